#include "main/verbs/make/completion_command.h"

#include <chrono>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "cli/completion.h"
#include "inference/model_store/model_store.h"
#include "main/verbs/shared/output.h"
#include "main/verbs/shared/server_instances.h"
#include "main/verbs/shared/shipped_endpoints.h"

namespace quire {
namespace {

constexpr const char* kBash = R"(# bash completion for quire, written by `quire completion bash`.
_quire() {
  local line current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[0]/#\~/$HOME} IFS=$'\n'
  COMPREPLY=()
  [ "$current" = "=" ] && current=""
  while IFS= read -r line; do
    case "$line" in
      :files) COMPREPLY+=($(compgen -f -- "$current")); compopt -o filenames 2>/dev/null ;;
      :folders) COMPREPLY+=($(compgen -d -- "$current")); compopt -o filenames 2>/dev/null ;;
      *) COMPREPLY+=("${line%%$'\t'*}") ;;
    esac
  done < <("$command" complete-words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _quire quire
)";

constexpr const char* kZsh = R"(#compdef quire
# zsh completion for quire, written by `quire completion zsh`.
_quire() {
  local line files= folders=
  local -a found
  for line in "${(@f)$(${(Q)words[1]} complete-words "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      '') ;;
      :files) files=yes ;;
      :folders) folders=yes ;;
      *) found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
    esac
  done
  (( $#found )) && _describe quire found
  [[ -n $files$folders ]] && compset -P '*='
  [[ -n $files ]] && _files
  [[ -n $folders ]] && _files -/
  return 0
}
if [ "$funcstack[1]" = "_quire" ]; then _quire "$@"; else compdef _quire quire; fi
)";

constexpr const char* kFish = R"(# fish completion for quire, written by `quire completion fish`.
function __quire_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l before (string match -r '^.*=' -- (commandline -ct); or echo '')
    set -l path (string replace -r '^.*=' '' -- (commandline -ct))
    for line in ($words[1] complete-words $words[2..-1] 2>/dev/null)
        switch $line
            case :files
                for each in (__fish_complete_path $path)
                    echo $before$each
                end
            case :folders
                for each in (__fish_complete_directories $path '')
                    echo $before$each
                end
            case '*'
                echo $line
        end
    end
end
complete -c quire -f -a '(__quire_complete)'
)";

// Programs that cannot be listed are left out, because no user would see the error.
std::vector<std::string> model_names() {
  std::vector<std::string> names;
  const Result<std::string> folder = inference::data_folder_from_environment();
  if (!folder.ok()) return names;
  const Result<std::vector<inference::StoredModel>> models =
      inference::ModelStore(folder.value()).list();
  if (!models.ok()) return names;
  for (const inference::StoredModel& each : models.value()) names.push_back(each.name);
  return names;
}

// The server may be slow or not there, and a user waits for the words.
constexpr std::chrono::milliseconds kServerTimeMax{1000};

// The numbers of instances, each with its program.
std::vector<std::pair<std::string, std::string>> instances_for(const cli::Completion& wanted) {
  cli::ServerChoice server;
  if (!wanted.server.empty()) server.url = wanted.server;
  server.key_file = wanted.key_file;
  std::vector<std::pair<std::string, std::string>> instances;
  const Result<service::StatusDetail> detail = instances_of(server, kServerTimeMax);
  if (!detail.ok()) return instances;
  for (const service::InstanceStatus& each : detail.value().instances) {
    instances.emplace_back(std::to_string(each.instance),
                           program_label(each) + ", " + printable(each.stage));
  }
  return instances;
}

}  // namespace

const char* completion_script(cli::Shell shell) {
  switch (shell) {
    case cli::Shell::Bash:
      return kBash;
    case cli::Shell::Zsh:
      return kZsh;
    case cli::Shell::Fish:
      break;
  }
  return kFish;
}

int completion_command(const cli::CompletionOptions& options) {
  print(completion_script(options.shell));
  return cli::number(cli::ExitCode::Ok);
}

int complete_words_command(const std::vector<std::string>& words) {
  const cli::Completion found = cli::complete(words);
  std::string text;
  for (const cli::CompletedWord& each : found.words) text += each.word + "\t" + each.help + "\n";
  const auto add = [&](const std::vector<std::string>& names, const char* help) {
    for (const std::string& each : names) {
      if (each.starts_with(found.begin)) text += found.before + each + "\t" + help + "\n";
    }
  };
  if (found.takes_models) add(model_names(), "model");
  if (found.takes_programs) add(shipped_program_names(), "program");
  if (found.takes_instances) {
    for (const auto& [number, help] : instances_for(found)) add({number}, help.c_str());
  }
  if (found.takes_files) text += ":files\n";
  if (found.takes_folders) text += ":folders\n";
  print(text);
  return cli::number(cli::ExitCode::Ok);
}

}  // namespace quire

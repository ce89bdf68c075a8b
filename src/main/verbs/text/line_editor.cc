#include "main/verbs/text/line_editor.h"

#include <histedit.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/descriptor.h"
#include "base/utf8.h"
#include "cli/terminal.h"

namespace quire {
namespace {

constexpr int kHistoryCountMax = 1000;
constexpr std::size_t kLineLettersMax = std::size_t{1} << 20;
// A terminal that knows it puts a paste between two marks.
constexpr std::string_view kMarkPastes = "\033[?2004h";
constexpr std::string_view kMarkNoPastes = "\033[?2004l";
constexpr wchar_t kPasteEnd[] = L"\033[201~";
constexpr wchar_t kInvisible = L'\1';  // Stands around what of a prompt takes no room.
constexpr wchar_t kNotACharacter = 0xFFFD;
constexpr wchar_t kCtrlC = 3;
constexpr int kSignals[] = {SIGINT, SIGWINCH, SIGTSTP, SIGTERM, SIGHUP, SIGQUIT};

void append_utf8(std::string& text, wchar_t letter) {
  const auto code = static_cast<std::uint32_t>(letter);
  const auto add = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xC0 | (code >> 6));
  } else {
    if (code < 0x10000) {
      add(0xE0 | (code >> 12));
    } else {
      add(0xF0 | (code >> 18));
      add(0x80 | ((code >> 12) & 0x3F));
    }
    add(0x80 | ((code >> 6) & 0x3F));
  }
  add(0x80 | (code & 0x3F));
}

std::string to_utf8(std::wstring_view letters) {
  std::string text;
  for (const wchar_t each : letters) append_utf8(text, each);
  return text;
}

// The letter of the well-formed character that the bytes are.
wchar_t letter_of(std::string_view character) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(character[at]); };
  if (character.size() == 1) return static_cast<wchar_t>(byte(0));
  std::uint32_t code = byte(0) & (0x7Fu >> character.size());
  for (std::size_t at = 1; at < character.size(); ++at) code = (code << 6) | (byte(at) & 0x3Fu);
  return static_cast<wchar_t>(code);
}

std::wstring to_letters(std::string_view text) {
  std::wstring letters;
  while (!text.empty()) {
    const std::size_t bytes = utf8_character_bytes(text);
    letters += bytes == 0 ? kNotACharacter : letter_of(text.substr(0, bytes));
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return letters;
}

// A paste as text: ends of lines are newlines, the last one goes, and so does what drives a terminal.
std::wstring cleaned(const std::wstring& paste) {
  std::wstring text;
  for (std::size_t i = 0; i < paste.size(); ++i) {
    const wchar_t each = paste[i];
    if (each == L'\r') {
      if (i + 1 == paste.size() || paste[i + 1] != L'\n') text += L'\n';
    } else if (each == L'\n' || each == L'\t' || (each >= 0x20 && each != 0x7F)) {
      text += each;
    }
  }
  while (text.ends_with(L'\n')) text.pop_back();
  return text;
}

sigset_t edited_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int each : kSignals) sigaddset(&set, each);
  return set;
}

void write_out(std::string_view text) {
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

struct EndEditor {
  void operator()(EditLine* editor) const { el_end(editor); }
};
struct EndHistory {
  void operator()(HistoryW* history) const { history_wend(history); }
};
struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

struct LineEditor::Implementation {
  static Implementation& of(EditLine* editor) {
    void* data = nullptr;
    el_wget(editor, EL_CLIENTDATA, &data);
    return *static_cast<Implementation*>(data);
  }
  // libedit calls these functions.
  static wchar_t* prompt_of(EditLine* editor) { return of(editor).prompt.data(); }
  static int read_letter(EditLine* editor, wchar_t* letter) { return of(editor).next(*letter); }
  static unsigned char on_interrupt(EditLine* editor, wint_t);
  static unsigned char on_paste(EditLine* editor, wint_t);
  static unsigned char on_newline(EditLine* editor, wint_t);
  static unsigned char on_tab(EditLine* editor, wint_t);

  Result<void> open();
  void bind();
  int next(wchar_t& letter);
  bool take_signals(wchar_t& letter);
  void stop();
  [[noreturn]] void end_by(int signal);
  // begin() asks the terminal to mark pastes, and takes the signals. end() undoes both.
  void begin();
  void end();

  Complete complete;
  std::unique_ptr<std::FILE, CloseFile> output;
  std::unique_ptr<EditLine, EndEditor> editor;
  std::unique_ptr<HistoryW, EndHistory> history;
  Descriptor signals;
  sigset_t mask_before{};
  std::wstring prompt;
  std::string pending;  // Bytes that were read and not yet taken.
  bool has_ended = false;
  bool is_interrupted = false;
};

// ---- Keys. ------------------------------------------------------------------------------------------

// Ends the line as Enter does, below all of it; read() says that it was given up.
unsigned char LineEditor::Implementation::on_interrupt(EditLine* editor, wint_t) {
  of(editor).is_interrupted = true;
  const LineInfoW* line = el_wline(editor);
  el_cursor(editor, static_cast<int>(line->lastchar - line->cursor));
  el_winsertstr(editor, L"^C");
  el_wpush(editor, L"\n");
  return CC_REFRESH;
}

unsigned char LineEditor::Implementation::on_paste(EditLine* editor, wint_t) {
  const std::wstring_view end(kPasteEnd);
  std::wstring paste;
  wchar_t letter = 0;
  while (!paste.ends_with(end) && paste.size() < kLineLettersMax) {
    if (el_wgetc(editor, &letter) != 1) return CC_EOF;
    if (letter == kCtrlC && of(editor).is_interrupted) return on_interrupt(editor, kCtrlC);
    paste += letter;
  }
  if (paste.ends_with(end)) paste.resize(paste.size() - end.size());
  const std::wstring text = cleaned(paste);
  if (text.empty()) return CC_NORM;
  return el_winsertstr(editor, text.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
}

unsigned char LineEditor::Implementation::on_newline(EditLine* editor, wint_t) {
  return el_winsertstr(editor, L"\n") == 0 ? CC_REFRESH : CC_ERROR;
}

unsigned char LineEditor::Implementation::on_tab(EditLine* editor, wint_t) {
  const LineInfoW* line = el_wline(editor);
  const std::string before = to_utf8({line->buffer, line->cursor});
  std::vector<std::string> texts = of(editor).complete(before);
  if (texts.empty()) return el_winsertstr(editor, L"\t") == 0 ? CC_REFRESH : CC_ERROR;
  std::string common = texts.front();
  for (const std::string& each : texts) {
    const auto differs = std::mismatch(common.begin(), common.end(), each.begin(), each.end());
    common.erase(differs.first, common.end());
  }
  if (texts.size() == 1) common += ' ';
  if (common.size() <= before.size()) return CC_REFRESH_BEEP;
  const std::wstring more = to_letters(std::string_view(common).substr(before.size()));
  return el_winsertstr(editor, more.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
}

// ---- Bytes and signals. -----------------------------------------------------------------------------

// 1: a letter; 0: the input has ended.
int LineEditor::Implementation::next(wchar_t& letter) {
  while (true) {
    if (const std::size_t bytes = utf8_character_bytes(pending); bytes > 0) {
      letter = letter_of(std::string_view(pending).substr(0, bytes));
      pending.erase(0, bytes);
      return 1;
    }
    if (pending.size() >= 4 || (has_ended && !pending.empty())) {
      letter = kNotACharacter;
      pending.erase(0, 1);
      return 1;
    }
    if (has_ended) return 0;
    pollfd polled[] = {{STDIN_FILENO, POLLIN, 0}, {signals.get(), POLLIN, 0}};
    if (poll(polled, 2, -1) < 0 && errno != EINTR) return 0;
    if (polled[1].revents != 0 && take_signals(letter)) return 1;
    if (polled[0].revents == 0) continue;
    char part[4096];
    const ssize_t count = ::read(STDIN_FILENO, part, sizeof part);
    if (count > 0) pending.append(part, static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR)) has_ended = true;
  }
}

// True: one of them is a letter.
bool LineEditor::Implementation::take_signals(wchar_t& letter) {
  signalfd_siginfo signal;
  while (::read(signals.get(), &signal, sizeof signal) == sizeof signal) {
    switch (signal.ssi_signo) {
      case SIGINT:
        is_interrupted = true;
        letter = kCtrlC;
        return true;
      case SIGWINCH:
        el_resize(editor.get());
        break;
      case SIGTSTP:
        stop();
        break;
      default:
        end_by(static_cast<int>(signal.ssi_signo));
    }
  }
  return false;
}

// As Ctrl-Z does where nothing is edited; goes on when the shell says so.
void LineEditor::Implementation::stop() {
  el_wset(editor.get(), EL_PREP_TERM, 0);
  write_out(kMarkNoPastes);
  write_out("\n");
  raise(SIGSTOP);
  el_wset(editor.get(), EL_PREP_TERM, 1);
  write_out(kMarkPastes);
  el_wset(editor.get(), EL_REFRESH);
}

void LineEditor::Implementation::end_by(int signal) {
  el_wset(editor.get(), EL_PREP_TERM, 0);
  write_out(kMarkNoPastes);
  write_out("\n");
  ::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  raise(signal);
  std::abort();  // The default action has ended the process.
}

void LineEditor::Implementation::begin() {
  const sigset_t set = edited_signals();
  pthread_sigmask(SIG_BLOCK, &set, &mask_before);
  is_interrupted = false;
  // Before the prompt: what is typed once it is there is for the editor.
  el_wset(editor.get(), EL_PREP_TERM, 1);
  write_out(kMarkPastes);
}

void LineEditor::Implementation::end() {
  write_out(kMarkNoPastes);
  pthread_sigmask(SIG_SETMASK, &mask_before, nullptr);
}

// ---- Set-up. ----------------------------------------------------------------------------------------

void LineEditor::Implementation::bind() {
  EditLine* const to = editor.get();
  el_wset(to, EL_ADDFN, L"quire-interrupt", L"Give the line up", &on_interrupt);
  el_wset(to, EL_ADDFN, L"quire-paste", L"Insert what is pasted", &on_paste);
  el_wset(to, EL_ADDFN, L"quire-newline", L"Insert a newline", &on_newline);
  el_wset(to, EL_ADDFN, L"quire-tab", L"Complete a command", &on_tab);
  el_wset(to, EL_BIND, L"^R", L"em-inc-search-prev", nullptr);
  el_source(to, nullptr);  // ~/.editrc, in which a user may ask for the keys of vi.
  el_wset(to, EL_BIND, L"^C", L"quire-interrupt", nullptr);
  el_wset(to, EL_BIND, L"-a", L"^C", L"quire-interrupt", nullptr);
  el_wset(to, EL_BIND, L"\\e[200~", L"quire-paste", nullptr);
  el_wset(to, EL_BIND, L"\\e^M", L"quire-newline", nullptr);
  el_wset(to, EL_BIND, L"\\e^J", L"quire-newline", nullptr);
  el_wset(to, EL_BIND, L"^I", L"quire-tab", nullptr);
}

Result<void> LineEditor::Implementation::open() {
  const char* term = std::getenv("TERM");
  if (isatty(STDIN_FILENO) == 0 || isatty(STDERR_FILENO) == 0 || term == nullptr ||
      std::string_view(term) == "dumb") {
    return Error(ErrorCode::NotSupported, "this is not a terminal on which lines can be edited");
  }
  // quire reads and writes UTF-8 in every locale, and libedit counts columns by the locale.
  if (std::setlocale(LC_CTYPE, "C.UTF-8") == nullptr) {
    return Error(ErrorCode::NotSupported, "this machine has no locale C.UTF-8");
  }
  const sigset_t set = edited_signals();
  signals = Descriptor(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  // Standard error itself has no buffer: each letter would be a call of the system.
  const int copy = dup(STDERR_FILENO);
  output.reset(copy < 0 ? nullptr : fdopen(copy, "w"));
  if (signals.get() < 0 || output == nullptr) {
    return Error(ErrorCode::Io, std::string("the terminal: ") + std::strerror(errno));
  }
  editor.reset(el_init_fd("quire", stdin, output.get(), output.get(), STDIN_FILENO, copy, copy));
  history.reset(history_winit());
  if (editor == nullptr || history == nullptr) {
    return Error(ErrorCode::Io, "libedit cannot be set up");
  }
  HistEventW event;
  history_w(history.get(), &event, H_SETSIZE, kHistoryCountMax);
  history_w(history.get(), &event, H_SETUNIQUE, 1);
  EditLine* const to = editor.get();
  el_wset(to, EL_CLIENTDATA, this);
  el_wset(to, EL_SIGNAL, 0);
  // A return stays one: a paste may have both in the end of a line.
  el_wset(to, EL_SETTY, L"-d", L"-icrnl", L"-inlcr", nullptr);
  el_wset(to, EL_EDITOR, L"emacs");
  el_wset(to, EL_HIST, &history_w, history.get());
  el_wset(to, EL_PROMPT_ESC, &prompt_of, kInvisible);
  el_wset(to, EL_GETCFN, &read_letter);
  bind();
  return {};
}

LineEditor::LineEditor(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
LineEditor::~LineEditor() = default;

Result<std::unique_ptr<LineEditor>> LineEditor::create(Complete complete) {
  auto implementation = std::make_unique<Implementation>();
  implementation->complete = std::move(complete);
  TRY(implementation->open());
  return std::unique_ptr<LineEditor>(new LineEditor(std::move(implementation)));
}

LineEditor::Got LineEditor::read(const std::string& prompt, std::string& line) {
  Implementation& self = *implementation_;
  const cli::Terminal terminal = cli::Terminal::standard_error();
  self.prompt = to_letters(prompt);
  if (terminal.interactive()) {
    self.prompt = kInvisible + to_letters("\033[1m") + kInvisible + self.prompt + kInvisible +
                  to_letters("\033[0m") + kInvisible;
  }
  self.begin();
  int count = 0;
  const wchar_t* read = el_wgets(self.editor.get(), &count);
  line = read == nullptr ? "" : to_utf8({read, static_cast<std::size_t>(std::max(count, 0))});
  self.end();
  if (line.ends_with('\n')) line.pop_back();
  if (self.is_interrupted) return Got::Interrupted;
  if (read != nullptr) return Got::Line;
  write_out("\n");
  return Got::End;
}

void LineEditor::add_history(const std::string& entry) {
  HistEventW event;
  history_w(implementation_->history.get(), &event, H_ENTER, to_letters(entry).c_str());
}

}  // namespace quire

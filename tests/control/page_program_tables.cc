// Every operation, every mistake, and what they come to: what is printed as coverage.
#include "control/page_program.h"

namespace quire::control {

namespace {

// The outcomes of operations, sooner or later.
constexpr const char* kOutcomes[] = {"a token found",
                                     "a context suspended",
                                     "a snapshot opened",
                                     "a note opened",
                                     "a take given up",
                                     "a batch under way",
                                     "a name taken",
                                     "no such snapshot",
                                     "a snapshot beyond the quota",
                                     "a save on a bad disk",
                                     "a snapshot of another tenant refused",
                                     "copy_kvpage done",
                                     "copy_kvpage no-free-page",
                                     "copy_kvpage out-of-range",
                                     "copy_kvpage page-committed",
                                     "copy_kvpage page-not-full",
                                     "forward over pages done",
                                     "forward over pages no-free-page",
                                     "forward over pages page-committed",
                                     "forward over pages out-of-range",
                                     "forward over pages invalid-argument",
                                     "forward over pages too-large",
                                     "export_kvpage done",
                                     "export_kvpage already-exists",
                                     "export_kvpage invalid-argument",
                                     "export_kvpage no-free-page",
                                     "export_kvpage permission-denied",
                                     "export_kvpage quota-exceeded",
                                     "import_kvpage done",
                                     "import_kvpage not-found",
                                     "import_kvpage out-of-range",
                                     "import from another tenant",
                                     "import of what a guest left behind",
                                     "a private export of another tenant refused",
                                     "unexport_kvpage done",
                                     "unexport_kvpage not-found",
                                     "context.pages done",
                                     "context.pages out-of-range",
                                     "from_pages done",
                                     "from_pages invalid-argument",
                                     "from_pages no-free-page",
                                     "from_pages page-not-full",
                                     "from_pages with a token that is not the page's",
                                     "an answer for want of a page",
                                     "an answer that was lost",
                                     "a pass that failed",
                                     "a load that failed",
                                     "a save that failed",
                                     "host memory full",
                                     "the tier on disk full",
                                     "pages on both tiers",
                                     "a page restored from host memory",
                                     "a page restored from disk",
                                     "a page kept on a tier",
                                     "a page damaged",
                                     "a page lost for want of room",
                                     "a context swapped",
                                     "a context lost",
                                     "pages of the tier on a bad disk",
                                     "pages on disk forgotten by a restart"};

}  // namespace

std::vector<PageProgram::Operation> PageProgram::operations() {
  using P = PageProgram;
  return {{"append", 26, &P::append},
          {"flush", 12, &P::flush},
          {"flush of all contexts", 2, &P::flush_all},
          {"forward", 22, &P::forward},
          {"fork", 5, &P::fork},
          {"truncate", 4, &P::truncate},
          {"rewind", 4, &P::rewind},
          {"drop_range", 6, &P::drop_range},
          {"splice", 2, &P::splice},
          {"use of adapters", 4, &P::use_adapters},
          {"working pages", 1, &P::use_working_pages},
          {"hint", 2, &P::hint},
          {"drop", 2, &P::drop},
          {"end of an instance", 2, &P::end},
          {"save", 2, &P::save},
          {"open, take", 2, &P::open},
          {"delete", 1, &P::remove},
          {"list", 1, &P::list},
          {"a tenant's weight set", 1, &P::weigh},
          {"a step", 5, &P::step},
          {"a step begun", 5, &P::begin_step}};
}

std::vector<PageProgram::Operation> PageProgram::by_hand() {
  using P = PageProgram;
  return {{"alloc_kvpage", 4, &P::alloc_pages},
          {"dealloc_kvpage", 2, &P::dealloc_pages},
          {"mask_kvpage", 2, &P::mask_page},
          {"embed_text", 6, &P::embed_text},
          {"alloc_emb, dealloc_emb", 1, &P::renew_embed},
          {"a page written from its begin", 4, &P::write_page},
          {"forward over pages", 7, &P::forward_pages},
          {"copy_kvpage", 4, &P::copy_page},
          {"export_kvpage", 6, &P::export_pages},
          {"import_kvpage", 6, &P::import_pages},
          {"unexport_kvpage", 1, &P::unexport_pages},
          {"list of exports", 1, &P::list_exports},
          {"context.pages", 3, &P::share_context},
          {"from_pages", 5, &P::make_from_pages},
          {"get_next_dist", 3, &P::get_next_dist}};
}

// Each as likely as the others; one step in eight makes one.
std::vector<PageProgram::Operation> PageProgram::mistakes() {
  using P = PageProgram;
  return {{"restart", 3, &P::restart},
          {"commit of a partial page", 4, &P::commit_partial_page},
          {"truncate beyond the tail", 4, &P::truncate_beyond_tail},
          {"release beyond the tail", 4, &P::release_beyond_tail},
          {"truncate beyond the working pages", 4, &P::truncate_beyond_pages},
          {"rewind beyond the end", 4, &P::rewind_beyond_end},
          {"drop_range beyond the end", 4, &P::drop_beyond_end},
          {"splice beyond the end", 4, &P::splice_beyond_end},
          {"splice across models", 4, &P::splice_across_models},
          {"reserve beyond the quota", 4, &P::reserve_beyond_quota},
          {"reserve beyond the pool", 4, &P::reserve_beyond_pool},
          {"alloc beyond the quota", 4, &P::alloc_beyond_quota},
          {"alloc beyond the pool", 4, &P::alloc_beyond_pool},
          {"pages beyond the quota", 4, &P::pages_beyond_quota},
          {"from_pages beyond the quota", 4, &P::from_pages_beyond_quota, true},
          {"wrong exports", 4, &P::export_wrongly},
          {"pages across models", 4, &P::share_across_models, true},
          {"embeds beyond the quota", 4, &P::embeds_beyond_quota},
          {"contexts beyond the quota", 4, &P::contexts_beyond_quota},
          {"foreign handle", 4, &P::use_foreign_handles},
          {"stale handle", 4, &P::use_stale_handles},
          {"handle of another kind", 4, &P::use_handles_of_another_kind},
          {"bad name", 4, &P::use_bad_names},
          {"snapshot of another tenant", 4, &P::open_foreign_snapshot},
          {"page file cut short", 8, &P::cut_short, true},
          {"page file bit-flipped", 8, &P::flip_bits, true},
          {"page file of another version", 8, &P::change_version, true},
          {"page file shrinking while open", 8, &P::shrink_while_open, true},
          {"disk full", 6, &P::fill_disk},
          {"EIO on a write", 6, &P::fail_write},
          {"read-only folder", 6, &P::make_read_only}};
}

Coverage PageProgram::no_coverage() {
  Coverage coverage;
  for (const auto& table : {operations(), by_hand(), mistakes()}) {
    for (const Operation& each : table) coverage[each.name] = 0;
  }
  for (const char* outcome : kOutcomes) coverage[outcome] = 0;
  return coverage;
}

}  // namespace quire::control

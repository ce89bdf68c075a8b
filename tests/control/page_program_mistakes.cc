// Mistakes of programs, and the error that each gets. Each is made by a guest of its own, on whose
// objects nothing else depends.
#include "control/page_program.h"

namespace quire::control {

void PageProgram::refused(const Guest& guest, CommandBody body, ErrorCode code) {
  const FutureId future = machine_->send(guest.id, std::move(body));
  settle_with(guest.id, future);
  ASSERT_EQ(machine_->error(guest.id, future), code);
}

void PageProgram::mistake(const InstanceLimits& limits,
                          const std::function<void(const Guest&, ObjectId context)>& act) {
  const Guest guest = start_guest(limits);
  const ObjectId context = machine_->context(guest.id, guest.queue);
  if (below(2) == 0) machine_->send(guest.id, ContextAppend{context, some_tokens()}, false);
  act(guest, context);
  machine_->controller->end_instance(guest.id);
  settle();
}

void PageProgram::mistake_in_edit(ContextEditKind kind, std::uint32_t count, ErrorCode code,
                                  const InstanceLimits& limits) {
  mistake(limits, [&](const Guest& guest, ObjectId context) {
    refused(guest, ContextEdit{context, kind, count}, code);
  });
}

void PageProgram::commit_partial_page(Guest&) {
  mistake_in_edit(ContextEditKind::CommitPages, 1 + below(3), ErrorCode::PageNotFull);
}
void PageProgram::truncate_beyond_tail(Guest&) {
  mistake_in_edit(ContextEditKind::Truncate, 1'000 + below(3), ErrorCode::OutOfRange);
}
void PageProgram::release_beyond_tail(Guest&) {
  mistake_in_edit(ContextEditKind::ReleasePages, 1 + below(3), ErrorCode::OutOfRange);
}
void PageProgram::truncate_beyond_pages(Guest&) {
  mistake_in_edit(ContextEditKind::TruncatePageTokens, 1 + below(3), ErrorCode::OutOfRange);
}
void PageProgram::rewind_beyond_end(Guest&) {
  mistake_in_edit(ContextEditKind::Rewind, 1'000 + below(3), ErrorCode::OutOfRange);
}
void PageProgram::reserve_beyond_quota(Guest&) {
  if (knobs_.page_count < 2) return;  // Then the pool is asked first.
  mistake_in_edit(ContextEditKind::ReservePages, 2, ErrorCode::QuotaExceeded,
                  {.page_count_max = 1});
}
void PageProgram::reserve_beyond_pool(Guest&) {
  mistake_in_edit(ContextEditKind::ReservePages, knobs_.page_count + 1 + below(3),
                  ErrorCode::NoFreePage);
}

void PageProgram::drop_beyond_end(Guest&) {
  const bool has_states = knobs_.state_count > 0;
  const ErrorCode code = has_states ? ErrorCode::NotSupported : ErrorCode::OutOfRange;
  mistake({}, [&](const Guest& guest, ObjectId context) {
    refused(guest, ContextDropRange{context, 0, 1}, code);
    refused(guest, ContextDropRange{context, 2, 1}, code);
  });
}

void PageProgram::splice_beyond_end(Guest&) {
  mistake({}, [&](const Guest& guest, ObjectId context) {
    const ObjectId empty = machine_->context(guest.id, guest.queue);
    refused(guest, ContextSplice{context, empty, 0, 1 + below(9)}, ErrorCode::OutOfRange);
  });
}

void PageProgram::splice_across_models(Guest&) {
  mistake({}, [&](const Guest& guest, ObjectId context) {
    const ObjectId queue = machine_->new_object();
    machine_->send(guest.id, CreateQueue{.queue = queue, .model = ModelIndex{1}}, false);
    const ObjectId other = machine_->context(guest.id, queue);
    refused(guest, ContextSplice{context, other, 0, 0}, ErrorCode::InvalidArgument);
    refused(guest, ContextSplice{other, context, 0, 0}, ErrorCode::InvalidArgument);
  });
}

void PageProgram::alloc_beyond_quota(Guest&) {
  mistake({.page_count_max = 1}, [&](const Guest& guest, ObjectId) {
    refused(guest, AllocPages{guest.queue, machine_->new_objects(2)}, ErrorCode::QuotaExceeded);
  });
}

void PageProgram::alloc_beyond_pool(Guest&) {
  mistake({}, [&](const Guest& guest, ObjectId) {
    const auto pages = machine_->new_objects(knobs_.page_count + 1);
    refused(guest, AllocPages{guest.queue, pages}, ErrorCode::NoFreePage);
  });
}

void PageProgram::embeds_beyond_quota(Guest&) {
  mistake({.embed_count_max = 2}, [&](const Guest& guest, ObjectId) {
    refused(guest, AllocEmbeds{guest.queue, machine_->new_objects(3)}, ErrorCode::QuotaExceeded);
  });
}

void PageProgram::contexts_beyond_quota(Guest&) {
  mistake({.context_count_max = 1}, [&](const Guest& guest, ObjectId context) {
    const ObjectId more = machine_->new_object();
    refused(guest, ContextCreate{more, guest.queue}, ErrorCode::QuotaExceeded);
    refused(guest, ContextFork{context, more}, ErrorCode::QuotaExceeded);
    refused(guest, ContextOpen{more, guest.queue, "any", false}, ErrorCode::QuotaExceeded);
    refused(guest, ContextFromPages{more, guest.queue, {}, {}}, ErrorCode::QuotaExceeded);
  });
}

// Handles count, whatever they stand for.
void PageProgram::pages_beyond_quota(Guest&) {
  mistake({.page_count_max = 1}, [&](const Guest& guest, ObjectId context) {
    machine_->pages(guest.id, guest.queue, 1);
    const std::vector<ObjectId> more = machine_->new_objects(1);
    refused(guest, ImportPages{guest.queue, "any", more}, ErrorCode::QuotaExceeded);
    refused(guest, ContextPages{context, 0, more}, ErrorCode::QuotaExceeded);
  });
}

// A page that was made by hand is copied.
void PageProgram::from_pages_beyond_quota(Guest&) {
  if (is_fallible() || knobs_.state_count > 0) return;
  mistake({.page_count_max = 1}, [&](const Guest& guest, ObjectId) {
    const ObjectId page = machine_->pages(guest.id, guest.queue, 1)[0];
    const ObjectId embed = machine_->embeds(guest.id, guest.queue, 1)[0];
    machine_->send(guest.id, EmbedText{guest.queue, {embed}, {1}, {0}}, false);
    machine_->send(guest.id, Forward{guest.queue, {}, {embed}, {page}, {}, {}, false}, false);
    const ObjectId made = machine_->new_object();
    refused(guest, ContextFromPages{made, guest.queue, {page}, {1}}, ErrorCode::QuotaExceeded);
    note("from_pages beyond the quota");
  });
}

void PageProgram::export_wrongly(Guest&) {
  mistake({}, [&](const Guest& guest, ObjectId) {
    const ObjectId page = machine_->pages(guest.id, guest.queue, 1)[0];
    refused(guest, ExportPages{guest.queue, {}, "any", false}, ErrorCode::InvalidArgument);
    refused(guest, ExportPages{guest.queue, {page, page}, "any", false},
            ErrorCode::InvalidArgument);
    refused(guest, ExportPages{guest.queue, {page}, "any", true}, ErrorCode::PermissionDenied);
    const ObjectId made = machine_->new_object();
    refused(guest, ContextFromPages{made, guest.queue, {}, {512}}, ErrorCode::OutOfRange);
  });
}

void PageProgram::share_across_models(Guest&) {
  if (is_fallible()) return;
  constexpr const char* kName = "of one model";
  mistake({}, [&](const Guest& guest, ObjectId) {
    const ObjectId queue = machine_->new_object();
    machine_->send(guest.id, CreateQueue{.queue = queue, .model = ModelIndex{1}}, false);
    const ObjectId page = machine_->pages(guest.id, guest.queue, 1)[0];
    const ObjectId made = machine_->new_object();
    refused(guest, ExportPages{queue, {page}, kName, false}, ErrorCode::InvalidArgument);
    refused(guest, CopyPage{queue, page, page, 0, 0, 0}, ErrorCode::InvalidArgument);
    refused(guest, ContextFromPages{made, queue, {page}, {}}, ErrorCode::InvalidArgument);
    ASSERT_EQ(outcome(guest.id, ExportPages{guest.queue, {page}, kName, false}), std::nullopt);
    refused(guest, ImportPages{queue, kName, machine_->new_objects(1)}, ErrorCode::InvalidArgument);
    ASSERT_EQ(outcome(guest.id, UnexportPages{kName}), std::nullopt);
    note("pages across models");
  });
}

// Every command that names the context.
void PageProgram::refuse_context(const Guest& guest, ObjectId context) {
  const CommandBody bodies[] = {ContextAppend{context, {1}},
                                ContextFlush{context},
                                ContextForward{context, {}},
                                ContextFork{context, machine_->new_object()},
                                ContextEdit{context, ContextEditKind::Rewind, 0},
                                ContextDropRange{context, 0, 0},
                                ContextSplice{context, context, 0, 0},
                                ContextHint{context},
                                ContextBeyond{context},
                                ContextMark{context},
                                ContextKeep{context},
                                ContextPages{context, 0, {}},
                                ContextSave{.context = context, .name = "any"},
                                ContextDrop{context}};
  refused(guest, bodies[below(std::size(bodies))], ErrorCode::NotFound);
}

void PageProgram::refuse_page(const Guest& guest, ObjectId page) {
  const CommandBody bodies[] = {
      DeallocPages{guest.queue, {page}},
      CopyPage{guest.queue, page, page, 0, 0, 0},
      ExportPages{guest.queue, {page}, "any", false},
      ContextFromPages{machine_->new_object(), guest.queue, {page}, {}},
      MaskPage{guest.queue, page, std::vector<std::uint8_t>(knobs_.page_size, 1)},
      Forward{guest.queue, {page}, {}, {}, {}, {}, false},
      Forward{guest.queue, {}, {}, {page}, {}, {}, false}};
  refused(guest, bodies[below(std::size(bodies))], ErrorCode::NotFound);
}

void PageProgram::refuse_embed(const Guest& guest, ObjectId embed) {
  const CommandBody bodies[] = {DeallocEmbeds{guest.queue, {embed}},
                                EmbedText{guest.queue, {embed}, {1}, {0}},
                                GetNextDist{guest.queue, embed, 8}, GetLogits{guest.queue, embed},
                                Forward{guest.queue, {}, {embed}, {}, {}, {}, false}};
  refused(guest, bodies[below(std::size(bodies))], ErrorCode::NotFound);
}

void PageProgram::use_foreign_handles(Guest& other) {
  const ObjectId context = some_chain(other).id;
  const ObjectId embed = some(other.embeds).id;
  const ObjectId page = other.pages.empty() ? context : some(other.pages).id;
  const ObjectId queue = other.queue;
  mistake({}, [&](const Guest& guest, ObjectId) {
    refuse_context(guest, context);
    refuse_page(guest, page);
    refuse_embed(guest, embed);
    refused(guest, ContextCreate{machine_->new_object(), queue}, ErrorCode::NotFound);
    refused(guest, Synchronize{queue}, ErrorCode::NotFound);
    refused(guest, ImportPages{queue, "any", machine_->new_objects(1)}, ErrorCode::NotFound);
  });
}

void PageProgram::use_stale_handles(Guest&) {
  mistake({}, [&](const Guest& guest, ObjectId context) {
    const ObjectId page = machine_->pages(guest.id, guest.queue, 1)[0];
    const ObjectId embed = machine_->embeds(guest.id, guest.queue, 1)[0];
    machine_->send(guest.id, ContextDrop{context}, false);
    machine_->send(guest.id, DeallocPages{guest.queue, {page}}, false);
    machine_->send(guest.id, DeallocEmbeds{guest.queue, {embed}}, false);
    refuse_context(guest, context);
    refuse_page(guest, page);
    refuse_embed(guest, embed);
    machine_->send(guest.id, DestroyQueue{guest.queue}, false);
    refused(guest, Synchronize{guest.queue}, ErrorCode::NotFound);
    refused(guest, ContextCreate{machine_->new_object(), guest.queue}, ErrorCode::NotFound);
  });
}

void PageProgram::use_handles_of_another_kind(Guest&) {
  mistake({}, [&](const Guest& guest, ObjectId context) {
    const ObjectId embed = machine_->embeds(guest.id, guest.queue, 1)[0];
    refuse_context(guest, embed);
    refuse_page(guest, context);
    refuse_embed(guest, guest.queue);
    refused(guest, Synchronize{context}, ErrorCode::NotFound);
  });
}

void PageProgram::use_bad_names(Guest&) {
  using namespace std::string_literals;
  const std::string names[] = {"",
                               ".",
                               "..",
                               "../other"s,
                               "a/b"s,
                               "a\\b"s,
                               "a\0b"s,
                               "a\nb"s,
                               "a\x7f"s,
                               "\xc2\x85"s,
                               "\xff\xfe"s,
                               "\xed\xa0\x80"s,
                               "\xc0\xaf"s,
                               std::string(256, 'a'),
                               std::string(4'096, 'a')};
  mistake({}, [&](const Guest& guest, ObjectId context) {
    const std::string& name = names[below(std::size(names))];
    refused(guest, ContextSave{.context = context, .name = name}, ErrorCode::InvalidArgument);
    refused(guest, ContextOpen{machine_->new_object(), guest.queue, name, below(2) == 0},
            ErrorCode::InvalidArgument);
    refused(guest, SnapshotDelete{name}, ErrorCode::InvalidArgument);
    const ObjectId page = machine_->pages(guest.id, guest.queue, 1)[0];
    refused(guest, ExportPages{guest.queue, {page}, name, false}, ErrorCode::InvalidArgument);
    refused(guest, ImportPages{guest.queue, name, machine_->new_objects(1)},
            ErrorCode::InvalidArgument);
    refused(guest, UnexportPages{name}, ErrorCode::InvalidArgument);
  });
}

// The name is not found even if another tenant has a snapshot under it.
void PageProgram::open_foreign_snapshot(Guest&) {
  expire();
  mistake({}, [&](const Guest& guest, ObjectId) {
    for (const auto& [key, saved] : snapshots_) {
      if (key.first == guest.tenant || snapshots_.contains({guest.tenant, key.second})) continue;
      refused(guest, ContextOpen{machine_->new_object(), guest.queue, key.second, below(2) == 0},
              ErrorCode::NotFound);
      refused(guest, SnapshotDelete{key.second}, ErrorCode::NotFound);
      return note("a snapshot of another tenant refused");
    }
  });
}

}  // namespace quire::control

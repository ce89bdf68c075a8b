#pragma once
// Mistakes that tests plant to see whether they would notice them.
//
// Shipped code has none: is_planted() is a constant there, and what it guards is not compiled. The
// tests of planted faults (tests/control, tests/simulation, tests/sandbox) compile the files that
// ask for is_planted() a second time, with QUIRE_PLANTED_FAULTS, and switch on one fault after
// another. Ask for it in .cc files only: a header would be compiled in two ways in one program.
#include <cstdint>

namespace quire {

enum class Fault : std::uint8_t {
  None,
  ForkWithoutCount,        // A fork does not raise the count of the page that it shares.
  ReleaseWithoutDrop,      // A page that is given back keeps its holder.
  ReleaseTwice,            // A page that is given back loses two holders.
  PublishedBeforeWritten,  // A page that a batch is still writing is found as if it were written.
  NameWithoutParent,       // The name of a page says nothing of what precedes it,
  NameWithoutPosition,     // of where its tokens are,
  NameWithoutDomain,       // of who may share it,
  NameWithoutAdapter,      // or of the adapters that it was computed under.
  AdapterRunOffByOne,      // A page is named as if its adapters began a slot later.
  AdapterScaleOfAnother,   // A row is computed with the scale of another row of the batch.
  CompareSkipped,          // A hash that is equal is believed.
  FreedWithoutFence,       // A page is free while a batch may still touch it.
  SealedPageWritten,       // A context writes into a page that another one reads.
  RewindOffByOne,
  BoundaryPageNotCopied,  // What a context keeps of a page that it shared is not copied.
  DropRangeRenumbers,     // The tokens after a dropped range get lower positions.
  EvictedBeforeLeaves,    // A cold page goes while cold pages stand on it.
  EvictedWithoutWeight,   // The choice of a cold page knows no tenant's weight.
  IndexEntryLeftBehind,   // An evicted page can still be found.
  OpaquePageFound,
  ClaimKeptAfterFailure,  // What a failed batch was to write stays promised.
  RestoredFromStaleSlot,  // A context that was suspended reads the places its pages once had.
  LoadedFromStaleSlot,    // A page on a tier does not hold its name: its place becomes another's.
  ChecksumNotChecked,
  FolderNotSynced,
  IndexBeforePages,     // The index names pages that the disk may not have.
  CollectsReusedPage,   // gc takes a page that a save in progress counts on.
  QuotaCountsTwice,     // Pages that a tenant's snapshots share count for each of them.
  BatchOverLimit,       // A batch has a row more than the device takes.
  PriorityIgnored,      // The older operation goes first, whatever its priority.
  AgingOff,             // A long wait never raises a priority.
  ShareIgnored,         // Tenants have their turns in a fixed order.
  ConflictMerged,       // A forward joins the batch that computes its input.
  BarrierSkipped,       // A synchronize does not wait for what its queue does before it.
  StateOffByOne,        // A context goes on from a state as if it stood a token later.
  RequeryChangesState,  // The last token changes the state again when its output is wanted again.
  SharedStateChanged,   // A state that another context knows is changed in place.
  StateKeptBehindPage,  // A page loses its bytes, and the state after it is still found.
  AdmissionForgets,     // An instance that ends keeps its place.
  // The simulation of the whole engine must notice the faults from here on.
  WakeUpLost,            // A program that waits for several futures is not woken.
  WokenTwice,            // What ended one wait ends the next one too.
  AnswerToAnother,       // Two programs of one batch get one another's distribution.
  AnswerBehindDrop,      // A command is answered though its future was dropped.
  ErrorSwallowed,        // A distribution that could not be computed is an empty one.
  MailboxUnbounded,      // Messages are taken in though the mailbox is full.
  ChildOutlivesParent,   // A child goes on after its parent, on a budget without an owner.
  BudgetNotLent,         // What a child may use, its parent may use as well.
  GenerationNotChecked,  // A handle that stands for nothing reaches what has its place now.
  PageKeptBehindEnd,     // Of a program that ends while the device works for it.
  DraftStateKept,        // The state after drafts stays, though they do not stand.
  StateSlotNotHeld,      // A slot for a state can be given out while a pass reads it.
  LogUnbounded,          // The log keeps lines beyond its limit although they are not read.
  LogDropNotTold,        // A line of the log that did not fit is missing without a word.
  LogRestLost,           // A line of the log ends where standard error refused it.
  // A guest on the Wasm engine must notice the faults from here on.
  EpochNotArmed,  // A program that computes and never waits is not interrupted.
  // The wall of the process that compiles strangers' modules must hold it from here on.
  CompilerTakenOver,  // It opens files, connects, makes processes and traces its parent.
};
// The faults up to AdmissionForgets are in single parts. Random programs for these parts must
// notice them (tests/control).
inline constexpr std::uint8_t kPartFaultCount = static_cast<std::uint8_t>(Fault::AdmissionForgets);
inline constexpr std::uint8_t kWorldFaultCount =
    static_cast<std::uint8_t>(Fault::LogRestLost) - kPartFaultCount;
inline constexpr std::uint8_t kSandboxFaultCount =
    static_cast<std::uint8_t>(Fault::EpochNotArmed) - kPartFaultCount - kWorldFaultCount;

#ifdef QUIRE_PLANTED_FAULTS
// The one global that may change: it exists in those tests, which set it in processes of their
// own.
extern Fault planted_fault;
inline bool is_planted(Fault fault) {
  return planted_fault == fault;
}
#else
constexpr bool is_planted(Fault) {
  return false;
}
#endif

}  // namespace quire

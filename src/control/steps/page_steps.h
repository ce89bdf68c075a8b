#pragma once
// PageSteps: pages by hand. They are allocated, masked and copied, exported under a name, and shared
// with contexts in both directions.
//
// Thread   engine thread only.
#include "control/steps/context_steps.h"
#include "control/steps/steps.h"

namespace quire::control {

class PageSteps final : public Steps {
 public:
  PageSteps(const StepTools& tools, ContextSteps& contexts) : Steps(tools), contexts_(contexts) {}

  Attempt attempt(Operation& operation, BatchDraft* draft) override;

 private:
  Attempt alloc_pages(Operation& operation, BatchDraft* draft);
  Attempt mask_page(Operation& operation);
  Attempt copy_page(Operation& operation, BatchDraft& draft);
  Attempt export_pages(Operation& operation, BatchDraft& draft);
  Attempt import_pages(Operation& operation);
  Attempt unexport_pages(Operation& operation);
  Attempt list_exports(Operation& operation);
  Attempt share_context(Operation& operation);
  Attempt make_from_pages(Operation& operation, BatchDraft& draft);

  ContextSteps& contexts_;
};

}  // namespace quire::control

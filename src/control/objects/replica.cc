#include "control/objects/replica.h"

#include <algorithm>

#include "base/check.h"
#include "control/store/records.h"

namespace quire::control {
namespace {

// The properties in which pages of this model must agree with those of a file; domains are in their
// names.
store::PageSpace space_of(const PageCacheOptions& cache, const inference::Backend& backend) {
  return {.names = cache.space, .page_bytes = backend.capabilities().page_bytes};
}

PageTierOptions tiers_of(const ReplicaOptions& options) {
  PageTierOptions tiers = options.tiers;
  if (options.disk == nullptr) tiers.disk_page_count_max = 0;
  tiers.disk_view_bytes_max = store::kViewBytesMax;
  return tiers;
}

// A layer of a transformer has about twelve times the square of its width.
double number_count_of(const inference::ModelInfo& model) {
  const double width = model.embedding_width;
  return std::max(12.0 * model.layer_count * width * width, 1.0);
}

}  // namespace

Replica::Replica(inference::Backend& device, const PageCacheOptions& cache,
                 const ReplicaOptions& options)
    : index(options.index),
      place(static_cast<std::size_t>(options.index)),
      backend(device),
      model_number_count(number_count_of(device.model())),
      resources(device, cache, tiers_of(options)),
      store(options.disk, options.index, space_of(cache, device),
            device.capabilities().state_bytes),
      misses(options.miss_count_max),
      miss_scope(options.miss_scope),
      adapters(options.adapters),
      shares(resources.device.row_count_max) {
  QUIRE_CHECK(resources.device.row_count_max > 0, "a device that takes no rows");
}

}  // namespace quire::control

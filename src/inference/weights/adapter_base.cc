#include "inference/weights/adapter_base.h"

namespace quire::inference {

AdapterBase adapter_base(const ModelSpec& spec) {
  AdapterBase base{.architecture = spec.architecture,
                   .embedding_width = spec.embedding_width,
                   .vocabulary_size = spec.vocabulary_size,
                   .layers = {}};
  for (const LayerSpec& layer : spec.layers) {
    AdapterLayer& widths = base.layers.emplace_back();
    if (const AttentionSpec* attention = layer.attention()) {
      widths.query_width = attention->query_width();
      widths.kv_width = attention->kv_width();
      widths.has_gate = attention->has_gate;
    }
    widths.is_recurrent = layer.delta_net() != nullptr;
    if (const DenseSpec* dense = layer.dense()) widths.feed_forward_width = dense->width;
  }
  return base;
}

}  // namespace quire::inference

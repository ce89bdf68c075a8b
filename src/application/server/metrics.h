#pragma once
// The page of metrics: figures of a server in the text format of Prometheus. docs/operate/README.md lists them,
// and a test compares that list with the page.
//
// The number of lines is bounded: a tenant and an endpoint have a label of their own among the first
// kLabeledTenantCountMax and kLabeledEndpointCountMax; what is beyond is summed up as "other".
//
// Thread   that of the figures.
#include <cstddef>
#include <string>

#include "application/server/endpoint_figures.h"
#include "application/server/server_snapshot.h"

namespace quire::server {

inline constexpr std::size_t kLabeledTenantCountMax = 32;
inline constexpr std::size_t kLabeledEndpointCountMax = 64;

// Requires: the snapshot has its usage.
std::string metrics_page(const ServerSnapshot& snapshot, const EndpointFigures& endpoints,
                         const lifecycle::RunFigures& runs,
                         const control::ControlHistograms& histograms);

}  // namespace quire::server

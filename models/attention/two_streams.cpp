#include "models/attention/two_streams.hpp"

#include <cstdint>
#include <vector>

#include "core/error.hpp"

namespace attend {

TwoStreams::TwoStreams(const Layout& sentences, const Selection& queried, const torch::Tensor& ranks_M) {
  ensure(ranks_M.size(0) == sentences.num_tokens(), "a rank for every token");
  std::vector<std::int64_t> order, of_tokens, of_queries;
  const auto append = [&](std::vector<std::int64_t>& rows, std::int64_t first, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      rows.push_back(std::ssize(order));
      order.push_back(first + i);
    }
  };
  for (std::int64_t b = 0; b < sentences.size(); ++b) {
    append(of_tokens, sentences.offsets[b], sentences.length(b));
    append(of_queries, sentences.num_tokens() + queried.layout.offsets[b], queried.layout.length(b));
    layout.append(sentences.length(b) + queried.layout.length(b));
  }
  const torch::Device device = ranks_M.device();
  order_M = at::tensor(order, at::kLong).to(device);
  tokens = select(of_tokens, layout, device);
  queries = select(of_queries, layout, device);
  const torch::Tensor& positions_M = sentences.on(device).places_M;
  places_M = joined(positions_M, queried.of(positions_M));
  ranks = {.of_queries_M = joined(ranks_M, queried.of(ranks_M) - 1), .of_keys_M = ranks_M};
}

}  // namespace attend

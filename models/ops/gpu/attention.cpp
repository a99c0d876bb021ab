// The GPU's forms of fused_attention: kernels of LibTorch that take sentences without padding, as torch.nn.attention.
// varlen does. The first that serves a form computes it; the weights are never stored.
//
//   flash attention (Dao 2023, arXiv 2307.08691)   bf16; heads of 8, 16 … 192 columns; a window may limit the distance
//   memory-efficient attention (Rabe and Staats    fp32; heads of 4, 8 … columns; no window; no sentence is empty
//     2021, arXiv 2112.05682)
//   none (models/attention/heads.cpp, padded)      other biases by distance; queries that are not at their keys' places
//
// Both may be causal and drop weights. Flash attention's backward pass adds in no fixed order.
#include <mutex>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/log.hpp"
#include "models/ops/gpu/support.hpp"

namespace attend::ops::gpu {
namespace {

enum class Kernel { none, flash, efficient };

struct Choice {
  Kernel kernel = Kernel::none;
  std::string_view obstacle = {};  // to a faster kernel, for the log
};

// Larger heads need particular GPUs in the backward pass.
constexpr std::int64_t kFlashColumns = 192;

bool has_empty_sentence(const Layout& layout) {
  for (std::int64_t b = 0; b < layout.size(); ++b) {
    if (layout.length(b) == 0) return true;
  }
  return false;
}

Choice choose(const QueriesKeysValues& rows, const Layout& queries, const Layout& keys, const HeadsForm& form) {
  const std::int64_t columns = rows.width() / form.heads;
  if (queries.num_tokens() == 0 || keys.num_tokens() == 0) return {};
  if (form.numbers_M.defined()) return {.obstacle = "queries of only some tokens"};
  if (form.biases_ND.defined() && form.half_width == 0) return {.obstacle = "biases by distance"};
  if (form.half_width > 0 && queries.offsets != keys.offsets) return {.obstacle = "a window over other sentences"};
  if (rows.first.scalar_type() == at::kBFloat16) {
    // Like flash attention, this asks for compute capability 8.
    const bool has_kernels =
        !rows.first.is_cuda() || at::detail::getCUDAHooks().supportsBFloat16ConvolutionWithCuDNNv8();
    if (!has_kernels) return {.obstacle = "bf16 on GPUs before compute capability 8.0"};
    if (columns % 8 != 0) return {.obstacle = "bf16 and heads whose width is no multiple of 8"};
    if (columns > kFlashColumns) return {.obstacle = "bf16 and heads of more than 192 columns"};
    return {.kernel = Kernel::flash};
  }
  if (form.half_width > 0) return {.obstacle = "a window in fp32"};
  if (columns % 4 != 0) return {.obstacle = "fp32 and heads whose width is no multiple of 4"};
  if (has_empty_sentence(queries) || has_empty_sentence(keys)) return {.obstacle = "empty sentences in fp32"};
  return {.kernel = Kernel::efficient, .obstacle = "fp32"};
}

// Says what serves attention, each message once.
void log_once(const Choice& choice) {
  static std::mutex mutex;
  static std::set<std::pair<Kernel, std::string_view>> said;
  const std::lock_guard lock(mutex);
  if (!said.emplace(choice.kernel, choice.obstacle).second) return;
  switch (choice.kernel) {
    case Kernel::flash: return log::info("attention: flash attention, without padding");
    case Kernel::efficient:
      return log::info("attention: memory-efficient, without padding; flash attention, which is faster, takes no {}",
                       choice.obstacle);
    case Kernel::none:
      if (choice.obstacle.empty()) return;
      log::info("attention: padded and with stored weights, which is slower: no kernel takes {}", choice.obstacle);
  }
}

// What both passes need besides the rows.
struct Work {
  Kernel kernel;
  Tensor query_offsets, key_offsets;  // int32
  std::int64_t max_queries, max_keys, heads;
  bool causal;
  std::int64_t half_width;
  double scale;
  Dropout dropout;

  std::optional<std::int64_t> behind() const { return half_width > 0 ? std::optional(half_width) : std::nullopt; }
  std::optional<std::int64_t> ahead() const {
    return half_width > 0 && causal ? std::optional<std::int64_t>(0) : behind();
  }
  std::int64_t mask() const { return causal ? 1 : 0; }  // 1: query t attends to keys 0 … t

  // Rows [M, H] as [M, N, D], at addresses that vectors of 16 bytes may be read from.
  Tensor by_heads(const Tensor& x_MH) const {
    const bool aligned = x_MH.stride(1) == 1 && x_MH.stride(0) % 8 == 0 && x_MH.storage_offset() % 8 == 0;
    return (aligned ? x_MH : x_MH.contiguous()).unflatten(1, {heads, -1});
  }
};

// What the backward pass reads: the context [M, N, D], the logarithms of the softmax's denominators, and where in the
// generator's sequence the dropped weights were drawn.
struct Forward {
  Tensor context, log_sums, seed, offset;
};

Forward forward_pass(const Work& work, const QueriesKeysValues& rows, bool gradient) {
  const Tensor q = work.by_heads(rows.q()), k = work.by_heads(rows.k()), v = work.by_heads(rows.v());
  if (work.dropout.rate > 0) seed_generator(q.device(), work.dropout.key);
  if (work.kernel == Kernel::flash) {
    auto [context, log_sums, seed, unused, mask] = at::_flash_attention_forward(
        q, k, v, work.query_offsets, work.key_offsets, work.max_queries, work.max_keys, work.dropout.rate, work.causal,
        /*return_debug_mask=*/false, work.scale, work.behind(), work.ahead());
    return {context, log_sums, seed, unused};
  }
  auto [context, log_sums, seed, offset, max_queries, max_keys] = at::_efficient_attention_forward(
      q.unsqueeze(0), k.unsqueeze(0), v.unsqueeze(0), /*bias=*/{}, work.query_offsets, work.key_offsets,
      work.max_queries, work.max_keys, work.dropout.rate, work.mask(), /*compute_log_sumexp=*/gradient, work.scale);
  return {context.squeeze(0), log_sums, seed, offset};
}

class AttentionFunction : public torch::autograd::Function<AttentionFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& first, const std::optional<Tensor>& second,
                        const std::optional<Tensor>& third, const Work& work) {
    const QueriesKeysValues rows{first, defined_or_not(second), defined_or_not(third)};
    const Forward result = forward_pass(work, rows, /*gradient=*/true);
    hold(*context, work);
    context->save_for_backward(
        {rows.first, rows.second, rows.third, result.context, result.log_sums, result.seed, result.offset});
    return result.context.flatten(1);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const Work& work = held<Work>(*context);
    const QueriesKeysValues rows{saved[0], saved[1], saved[2]};
    const Tensor q = work.by_heads(rows.q()), k = work.by_heads(rows.k()), v = work.by_heads(rows.v());
    const Tensor dcontext = gradients[0].contiguous().unflatten(1, {work.heads, -1});
    Tensor dq, dk, dv, dbias;
    if (work.kernel == Kernel::flash) {
      std::tie(dq, dk, dv) = at::_flash_attention_backward(
          dcontext, q, k, v, saved[3], saved[4], work.query_offsets, work.key_offsets, work.max_queries, work.max_keys,
          work.dropout.rate, work.causal, saved[5], saved[6], work.scale, work.behind(), work.ahead());
    } else {
      std::tie(dq, dk, dv, dbias) = at::_efficient_attention_backward(
          dcontext.unsqueeze(0), q.unsqueeze(0), k.unsqueeze(0), v.unsqueeze(0), /*bias=*/{}, saved[3].unsqueeze(0),
          work.query_offsets, work.key_offsets, work.max_queries, work.max_keys, saved[4], work.dropout.rate, saved[5],
          saved[6], work.mask(), /*bias_requires_grad=*/false, work.scale);
    }
    const auto in_one = [](at::TensorList parts) {
      std::vector<Tensor> wide;
      for (const Tensor& part : parts) wide.push_back(part.reshape({part.size(-3), -1}));
      return at::cat(wide, 1);
    };
    if (rows.third.defined()) return {in_one({dq}), in_one({dk}), in_one({dv}), Tensor()};
    if (rows.second.defined()) return {in_one({dq}), in_one({dk, dv}), Tensor(), Tensor()};
    return {in_one({dq, dk, dv}), Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

Tensor fused_attention(const QueriesKeysValues& rows, const Layout& queries, const Layout& keys,
                       const HeadsForm& form) {
  const Choice choice = choose(rows, queries, keys, form);
  log_once(choice);
  if (choice.kernel == Kernel::none) return {};
  const torch::Device device = rows.first.device();
  const Work work{.kernel = choice.kernel,
                  .query_offsets = queries.int_offsets_on(device),
                  .key_offsets = keys.int_offsets_on(device),
                  .max_queries = queries.max_length,
                  .max_keys = keys.max_length,
                  .heads = form.heads,
                  .causal = form.causal,
                  .half_width = form.half_width,
                  .scale = form.scale(rows.width()),
                  .dropout = form.dropout};
  if (wants_gradient(rows.first, rows.second, rows.third)) {
    return AttentionFunction::apply(rows.first, optional(rows.second), optional(rows.third), work);
  }
  return forward_pass(work, rows, /*gradient=*/false).context.flatten(1);
}

}  // namespace attend::ops::gpu

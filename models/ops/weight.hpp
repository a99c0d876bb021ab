// A weight: the trained fp32 parameter (the master), and the form that matrix products read.
//
// A module registers the master under PyTorch's name and keeps the Weight beside it:
//   weight = ops::Weight(register_parameter("weight", torch::empty({out, in})));
//   y = ops::linear(x, weight, bias);
#pragma once

#include <torch/types.h>

#include <array>
#include <memory>
#include <utility>

#include "core/options.hpp"

namespace attend {

// Precision of matrix products; `automatic` is resolved before a model is built.
enum class Precision { automatic, fp32, bf16, int8 };
template <>
inline constexpr auto kEnumNames<Precision> = std::to_array<EnumName<Precision>>(
    {{Precision::automatic, "auto"}, {Precision::fp32, "fp32"}, {Precision::bf16, "bf16"}, {Precision::int8, "int8"}});

}  // namespace attend

namespace attend::ops {

struct PackedWeight;  // a form for decoding; private to ops
struct LogitsWeight;  // a form for logits, made once after each refresh

class Weight {
 public:
  Weight() = default;
  explicit Weight(torch::Tensor master) : master_(std::move(master)) {}

  // The fp32 parameter, [out, in]. Gradients arrive here, in fp32.
  const torch::Tensor& master() const { return master_; }

  // The form read in training: the master itself or its bf16 copy.
  const torch::Tensor& working() const { return working_.defined() ? working_ : master_; }

  // Sets the precision for training (fp32 or bf16) and makes the copy.
  void set_precision(Precision precision);

  // Updates the working copy; call it after every change of the master.
  void refresh();

  // Packs the weight for decoding in `precision` (int8 only on the CPU), where there is a packed form. Then it cannot
  // be trained; the master stays readable.
  void freeze(Precision precision);

  const PackedWeight* packed() const { return packed_.get(); }
  LogitsWeight& for_logits() const { return *for_logits_; }  // if the working form is bf16

  // Some rows as a weight, never packed, which shares values and gradients with this one.
  Weight rows(std::int64_t first, std::int64_t count) const;

 private:
  torch::Tensor master_;
  torch::Tensor working_;
  std::shared_ptr<const PackedWeight> packed_;
  std::shared_ptr<LogitsWeight> for_logits_;
};

}  // namespace attend::ops

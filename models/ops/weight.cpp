#include "models/ops/weight.hpp"

#include "core/error.hpp"
#include "models/ops/dispatch.hpp"
#include "models/ops/fast/products.hpp"

namespace attend::ops {

void Weight::set_precision(Precision precision) {
  ensure(precision == Precision::fp32 || precision == Precision::bf16, "training uses fp32 or bf16");
  working_ = precision == Precision::bf16 ? master_.detach().to(at::kBFloat16) : torch::Tensor();
  for_logits_ = precision == Precision::bf16 ? std::make_shared<LogitsWeight>() : nullptr;
  packed_.reset();
}

void Weight::refresh() {
  if (!working_.defined()) return;
  working_.copy_(master_.detach());
  for_logits_ = std::make_shared<LogitsWeight>();
}

void Weight::freeze(Precision precision) {
  ensure(precision != Precision::int8 || master_.is_cpu(), "8-bit matrix products run on the CPU");
  set_precision(precision == Precision::int8 ? Precision::fp32 : precision);
  if (precision != Precision::int8 && !has_fast_product(working(), *this)) return;
  if (precision == Precision::bf16 && !products::multiplies_bf16()) return;
  PackedWeight packed{.precision = precision, .panels = {}, .blocked = {}, .integers = {}};
  const torch::Tensor weight = working().detach().contiguous();
  const std::int64_t outputs = weight.size(0), inputs = weight.size(1);
  switch (precision) {
    case Precision::bf16: packed.blocked = products::pack(weight); break;
    case Precision::int8: packed.integers = kernels::pack_int8(weight.const_data_ptr<float>(), outputs, inputs); break;
    default: packed.panels = kernels::make_panels(weight.const_data_ptr<float>(), outputs, inputs);
  }
  packed_ = std::make_shared<const PackedWeight>(std::move(packed));
}

Weight Weight::rows(std::int64_t first, std::int64_t count) const {
  Weight some(master_.narrow(0, first, count));
  if (working_.defined()) {
    some.working_ = working_.narrow(0, first, count);
    some.for_logits_ = std::make_shared<LogitsWeight>();
  }
  return some;
}

}  // namespace attend::ops

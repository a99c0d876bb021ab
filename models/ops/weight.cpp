#include "models/ops/weight.hpp"

#include <ATen/ATen.h>

#include "core/error.hpp"
#include "models/ops/dispatch.hpp"
#include "models/ops/packed.hpp"
#include "models/ops/products.hpp"

namespace attend::ops {

void Weight::set_precision(Precision precision) {
  ensure(precision == Precision::fp32 || precision == Precision::bf16, "training computes in fp32 or bf16");
  working_ = precision == Precision::bf16 ? master_.detach().to(at::kBFloat16) : torch::Tensor();
  packed_.reset();
}

void Weight::refresh() {
  if (working_.defined()) working_.copy_(master_.detach());
}

void Weight::freeze(Precision precision) {
  if (precision == Precision::int8) {
    ensure(master_.is_cpu(), "8-bit products are made on the CPU");
    set_precision(Precision::fp32);
    const torch::Tensor master = master_.detach().contiguous();
    packed_ = std::make_shared<const PackedWeight>(
        PackedWeight{.precision = precision,
                     .weight = {},
                     .integers = pack_int8(master.const_data_ptr<float>(), master.size(0), master.size(1))});
    return;
  }
  set_precision(precision);
  if (!has_fast_product(working(), *this)) return;
  packed_ = std::make_shared<const PackedWeight>(
      PackedWeight{.precision = precision, .weight = products::pack(working().detach()), .integers = {}});
}

}  // namespace attend::ops

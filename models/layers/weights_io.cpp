#include "models/layers/weights_io.hpp"

#include <algorithm>
#include <iterator>
#include <span>

#include "core/error.hpp"
#include "models/layers/layers.hpp"

namespace attend {
namespace {

// A list such as "encoder.norm.weight, encoder.norm.bias and 5 more".
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
  return text;
}

std::string mismatch(const TensorView& found, at::IntArrayRef expected) {
  return c10::str(found.name, " (", name_of(found.dtype), " ", at::IntArrayRef(found.shape), ", expected F32 ",
                  expected, ")");
}

void check_fit(const WeightReport& found, const std::string& path) {
  std::string report;
  const auto add = [&](const char* what, const std::vector<std::string>& names) {
    if (!names.empty()) report += (report.empty() ? "" : "; ") + std::string(what) + " " + listed(names);
  };
  add("missing", found.missing);
  add("with a different type or shape", found.mismatched);
  add("unused", found.unused);
  if (!report.empty()) {
    throw UserError(path + " does not fit the model: " + report,
                    "use the weights of this run, or restore the model options they were trained with");
  }
}

// Copies the tensors of a file that fit into `tensors`; if `all` must, and one does not, throws UserError first.
WeightReport copy_tensors(const std::filesystem::path& path, const NamedTensors& tensors, bool all) {
  const SafetensorsFile file(path);
  WeightTaker taker(path);
  std::vector<at::Tensor> found;
  for (const auto& [name, tensor] : tensors) found.push_back(taker.take(file.find(name), name, tensor.sizes()));
  WeightReport report = std::move(taker).report(std::span(&file, 1), [](std::string_view) { return false; });
  if (all) check_fit(report, path.string());
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].defined()) tensors[i].second.copy_(found[i]);
  }
  return report;
}

}  // namespace

at::Tensor as_fp32(const TensorView& view) {
  const auto type = view.dtype == DType::f32 ? at::kFloat : view.dtype == DType::f16 ? at::kHalf : at::kBFloat16;
  auto* bytes = const_cast<std::byte*>(view.bytes.data());  // never written: from_blob lacks a const version
  return at::from_blob(bytes, view.shape, type).to(at::kFloat);
}

bool is_float(DType dtype) { return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16; }

void refuse_nonfinite(const torch::Tensor& tensor, const std::string& place) {
  if (at::isfinite(tensor).all().item<bool>()) return;
  throw UserError(place + " contains NaN or infinity",
                  "use another checkpoint: this one is damaged, or its training diverged");
}

at::Tensor WeightTaker::take(const TensorView* found, const std::string& name, at::IntArrayRef shape) {
  if (found == nullptr) {
    report_.missing.push_back(name);
    return {};
  }
  taken_.insert(found->name);
  if (!is_float(found->dtype) || at::IntArrayRef(found->shape) != shape) {
    report_.mismatched.push_back(mismatch(*found, shape));
    return {};
  }
  const at::Tensor tensor = as_fp32(*found);
  refuse_nonfinite(tensor, path_ + ": " + found->name);
  ++report_.loaded;
  return tensor;
}

NamedTensors parameters_of(const torch::nn::Module& module) {
  NamedTensors result;
  for (const auto& parameter : module.named_parameters()) result.emplace_back(parameter.key(), parameter.value());
  return result;
}

NamedTensors buffers_of(const torch::nn::Module& module) {
  NamedTensors result;
  for (const auto& named : module.named_modules()) {
    if (dynamic_cast<const Layer*>(named.value().get()) == nullptr) continue;
    for (const auto& buffer : named.value()->named_buffers(/*recurse=*/false)) {
      result.emplace_back(named.key() + "." + buffer.key(), buffer.value());
    }
  }
  return result;
}

NamedTensors weights_of(const torch::nn::Module& module) {
  NamedTensors result = parameters_of(module);
  std::ranges::move(buffers_of(module), std::back_inserter(result));
  return result;
}

std::int64_t count_parameters(const torch::nn::Module& module) {
  std::int64_t count = 0;
  for (const torch::Tensor& parameter : module.parameters()) count += parameter.numel();
  return count;
}

void save_tensors(const std::filesystem::path& path, const NamedTensors& tensors, const TensorMetadata& metadata) {
  std::vector<torch::Tensor> kept;  // owners of the views' memory
  std::vector<TensorView> views;
  for (const auto& [name, tensor] : tensors) {
    ensure(tensor.scalar_type() == torch::kFloat32, "files hold fp32");
    const torch::Tensor& stored = kept.emplace_back(tensor.detach().cpu().contiguous());
    views.push_back({.name = name,
                     .dtype = DType::f32,
                     .shape = stored.sizes().vec(),
                     .bytes = {static_cast<const std::byte*>(stored.const_data_ptr()), stored.nbytes()}});
  }
  write_safetensors(path, views, metadata);
}

void load_tensors(const std::filesystem::path& path, const NamedTensors& tensors) {
  copy_tensors(path, tensors, /*all=*/true);
}

WeightReport load_common_weights(const std::filesystem::path& path, const torch::nn::Module& module,
                                 const NamedTensors& tensors) {
  WeightReport report = copy_tensors(path, tensors, /*all=*/false);
  refresh_weights(module);
  return report;
}

void load_weights(const std::filesystem::path& path, const torch::nn::Module& module) {
  load_tensors(path, weights_of(module));
  refresh_weights(module);
}

}  // namespace attend

#include "models/run/new_run.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/error.hpp"
#include "core/files.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "models/run/run.hpp"
#include "models/text/pooling.hpp"
#include "models/translation/factory.hpp"

namespace attend {

namespace fs = std::filesystem;
using torch::Tensor;

void write_only_checkpoint(const fs::path& run, const NamedTensors& weights, const TensorMetadata& identity,
                           std::int64_t step) {
  const fs::path checkpoint = checkpoint_path(run, step);
  make_directories(checkpoint);
  save_tensors(checkpoint / "model.safetensors", weights, identity);
  write_manifest(checkpoint);
}

void write_run_record(const fs::path& run, const nlohmann::ordered_json& record) {
  write_file_atomic(run / "run.json", record.dump(1) + "\n");
}

void write_derived_run(const fs::path& run, const fs::path& from, const char* relation) {
  nlohmann::ordered_json record = record_of_kind(kind_of_run(from));
  record[relation] = fs::weakly_canonical(from).string();
  write_run_record(run, record);
  for (const char* file : {"task.toml", kEmbedFile}) {
    if (fs::exists(from / file)) write_file_atomic(run / file, read_file(from / file, kMaxConfigBytes));
  }
  make_directories(run / "tokenizer");
  std::error_code error;
  for (fs::directory_iterator entry(from / "tokenizer", error), end; !error && entry != end; entry.increment(error)) {
    write_file_atomic(run / "tokenizer" / entry->path().filename(), read_file(entry->path()));
  }
  if (error) throw UserError((from / "tokenizer").string() + ": cannot be read", "restore the run's tokenizer");
}

namespace {

// The heads to remove from a model with blocks like `block`.
struct HeadCut {
  const BlockOptions& block;  // with sizes
  std::span<const HeadPlace> removed;
};

// The prefix of the names of a layer's attention parameters, after that of their model.
std::string module_of(AttentionPlace place, std::int64_t layer) {
  return fmt::format("{}.layers.{}.{}.", place == AttentionPlace::encoder ? "encoder" : "decoder", layer,
                     place == AttentionPlace::cross ? "multihead_attn" : "self_attn");
}

// The number of parts, each with rows of every head, in a parameter of attention.
std::int64_t parts_of(std::string_view parameter) {
  if (parameter.starts_with("in_proj.")) return 3;
  return parameter.starts_with("kv_proj.") || parameter == "score.mixture" ? 2 : 1;
}

// True for parameters that all heads of a layer share: the bias of the output, and the vectors of relative positions.
bool is_shared(std::string_view parameter) {
  return parameter == "out_proj.bias" || parameter == "scope.keys" || parameter == "scope.values";
}

// A parameter of a layer's attention with only the `kept` heads, of `count`.
Tensor cut_parameter(std::string_view parameter, const Tensor& whole, std::int64_t count, const Tensor& kept) {
  if (is_shared(parameter)) return whole;
  if (parameter == "out_proj.weight") {
    return whole.unflatten(1, {count, -1}).index_select(1, kept).flatten(1);
  }
  const std::int64_t parts = parts_of(parameter);
  return whole.unflatten(0, {parts, count, whole.size(0) / (parts * count)}).index_select(1, kept).flatten(0, 2);
}

NamedTensors cut_heads(const NamedTensors& whole, const HeadCut& cut) {
  std::set<std::pair<AttentionPlace, std::int64_t>> layers;
  for (const HeadPlace& head : cut.removed) layers.emplace(head.place, head.layer);
  NamedTensors weights = whole;
  for (const auto& [place, layer] : layers) {
    const std::int64_t count = std::ssize(cut.block.kept(place, layer));
    const std::vector<std::int64_t> kept = kept_heads(cut.removed, place, layer, count);
    const std::string module = module_of(place, layer);
    for (auto& [name, tensor] : weights) {
      const std::size_t begin = name.find(module);
      if (begin == std::string::npos || (begin > 0 && name[begin - 1] != '.')) continue;
      tensor = cut_parameter(std::string_view(name).substr(begin + module.size()), tensor.detach(), count,
                             at::tensor(kept, at::kLong));
    }
  }
  return weights;
}

// The names of all heads that are missing afterwards.
std::vector<std::string> names_of_pruned(const HeadCut& cut) {
  const std::vector<HeadPlace> pruned = cut.block.pruned();
  std::set<HeadPlace> missing(pruned.begin(), pruned.end());
  for (const auto& [place, layer, head] : cut.removed) {
    const std::vector<std::int64_t> own = cut.block.kept(place, layer);
    if (head >= std::ssize(own)) {
      throw UserError("the model has no head " + to_text({place, layer, head}), "name heads of the model");
    }
    missing.insert({place, layer, own[static_cast<std::size_t>(head)]});
  }
  std::vector<std::string> names;
  for (const HeadPlace& head : missing) names.push_back(to_text(head));
  return names;
}

// A config.toml with another value of pruned-heads; all other lines stay.
std::string with_pruned_heads(const std::string& config, const std::vector<std::string>& names) {
  constexpr std::string_view kKey = "pruned-heads = ";
  std::vector<std::string> quoted;
  for (const std::string& name : names) quoted.push_back(fmt::format("\"{}\"", name));
  const std::string line = fmt::format("{}[{}]\n", kKey, fmt::join(quoted, ", "));
  std::size_t begin = config.starts_with(kKey) ? 0 : config.find(fmt::format("\n{}", kKey));
  if (begin == std::string::npos) return config + line;
  if (begin > 0) ++begin;
  return config.substr(0, begin) + line + config.substr(config.find('\n', begin) + 1);
}

BlockOptions& blocks_in(ModelConfig& options) { return options.block; }
BlockOptions& blocks_in(StackOptions& options) { return options.block; }
BlockOptions& blocks_in(LanguageOptions& options) { return options.stack.block; }

// `make` builds the model of options.
template <class Options, class Tokenizers, class Make>
void write_cut(const fs::path& run, const fs::path& pruned, Options options, const Tokenizers& tokenizers,
               const NamedTensors& whole, const HeadCut& cut, const Make& make) {
  blocks_in(options).pruned_heads = names_of_pruned(cut);
  const auto model = make(options);  // checks which heads are pruned
  const NamedTensors weights = cut_heads(whole, cut);
  for (const auto& [name, expected] : weights_of(*model)) {
    const auto found = std::ranges::find(weights, name, &NamedTensors::value_type::first);
    ensure(found == weights.end() || found->second.sizes() == expected.sizes(), "the weights of the pruned model");
  }
  StagedDirectory staged(pruned);
  write_file_atomic(staged.path() / "config.toml", with_pruned_heads(read_file(run / "config.toml", kMaxConfigBytes),
                                                                     blocks_in(options).pruned_heads));
  auto written = read_config<Options>(staged.path() / "config.toml", UnknownKeys::ignore);
  if (blocks_in(written).pruned_heads != blocks_in(options).pruned_heads) {
    throw UserError((run / "config.toml").string() + ": pruned-heads is not on a line of its own",
                    "write it as attend does: pruned-heads = [\"encoder.0.1\"]");
  }
  write_derived_run(staged.path(), run, "pruned_from");
  write_only_checkpoint(staged.path(), weights, identity_of(options, tokenizers));
  staged.commit();
}

}  // namespace

std::vector<AttentionPlace> prunable_places(const fs::path& run) {
  const std::string what = run.string() + ": heads are to be pruned";
  const auto of_layers = [&](const StackOptions& options, AttentionPlace place) {
    check_prunable(options.block, what);
    if (options.share_layers) {
      throw UserError(what + ", but share-layers is true, so that layers have the same heads", "give another run");
    }
    return std::vector{place};
  };
  const auto refuse_recurrent = [&](bool recurrent) {
    if (recurrent) throw UserError(what + ", but it is a recurrent model", "give a run of a Transformer");
  };
  return std::visit(overloaded{[&](const ModelConfig& options) {
                                 refuse_recurrent(options.model != ModelKind::transformer);
                                 std::vector<AttentionPlace> places = {AttentionPlace::cross};
                                 if (is_prunable(block_of(options, StackChoice::encoder)))
                                   places.push_back(AttentionPlace::encoder);
                                 if (is_prunable(block_of(options, StackChoice::decoder)))
                                   places.push_back(AttentionPlace::decoder);
                                 return places;
                               },
                               [&](const StackOptions& options) { return of_layers(options, AttentionPlace::encoder); },
                               [&](const LanguageOptions& options) {
                                 refuse_recurrent(options.is_recurrent());
                                 return of_layers(options.stack, AttentionPlace::decoder);
                               },
                               [&](const TextModelOptions&) -> std::vector<AttentionPlace> {
                                 throw UserError(what + ", but it is fine-tuned",
                                                 "prune the run that it was tuned from");
                               }},
                    options_of_run(run));
}

void write_pruned_run(const fs::path& run, const std::string& checkpoint, std::span<const HeadPlace> removed,
                      const fs::path& pruned) {
  prunable_places(run);  // throws if there are none
  const auto write =
      overloaded{[&](const TranslationRun& whole) {
                   const BlockOptions block = sized(whole.options.block, *whole.options.width);
                   const VocabularySizes sizes = sizes_of(whole.tokenizers);
                   write_cut(run, pruned, whole.options, whole.tokenizers, weights_of(*whole.model), {block, removed},
                             [&](const ModelConfig& options) { return make_seq2seq(options, sizes, std::nullopt); });
                 },
                 [&](const BertRun& whole) {
                   const std::int64_t vocabulary = whole.tokenizer.size();
                   const BlockOptions block = sized(whole.options).block;
                   write_cut(run, pruned, whole.options, whole.tokenizer, whole.weights, {block, removed},
                             [&](const StackOptions& options) { return BertForPretraining(options, vocabulary); });
                 },
                 [&](const LanguageRun& whole) {
                   const std::int64_t vocabulary = whole.tokenizer.size();
                   const BlockOptions block = sized(whole.options.stack).block;
                   write_cut(run, pruned, whole.options, whole.tokenizer, weights_of(*whole.model), {block, removed},
                             [&](const LanguageOptions& options) {
                               return make_language_model(options, vocabulary, objective_of_run(run));
                             });
                 },
                 [](const TextRun&) {}};  // refused
  std::visit(write, load_run(run, checkpoint));
}

}  // namespace attend

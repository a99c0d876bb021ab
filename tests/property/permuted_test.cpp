// Properties of two-stream attention, whatever the options of an encoder: a query depends on the tokens before it in
// the order and no others; the content stream equals a causal model if the order is that of positions, and an encoder
// if all tokens are known.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "models/attention/heads.hpp"
#include "models/bert/bert.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"
#include "tests/support/combinations.hpp"
#include "tests/support/sentences.hpp"

namespace attend {
namespace {

using torch::Tensor;

constexpr std::int64_t kQueryPiece = 3;
// Two sentences of six and three tokens; three tokens are asked for.
const std::vector<std::int64_t> kRanksOfTokens = {0, 4, 2, 3, 1, 0, 2, 1, 3};
const std::vector<std::int64_t> kAskedFor = {1, 3, 6};

StackOptions drawn_permuted(RandomStream& random) {
  StackOptions options;
  options.layers = 2;
  options.width = 12;
  options.max_positions = 8;
  options.dropout = 0;
  draw_options(
      bind(options),
      {{"heads", {1, 2, 3, 6}}, {"feed-forward", {0, 19}}, {"self-window", {0, 0, 2}}, {"embedding-width", {12, 6}}},
      random);
  options.block.attention_dropout = 0;
  if (options.initialiser == Initialiser::of_family) options.initial_deviation = 0.3;
  return options;
}

std::shared_ptr<BertImpl> permuted_encoder(const StackOptions& options) {
  Bert bert(options, kVocabulary, kQueryPiece);
  initialise(*bert, 7);
  bert->to(test_device());
  return bert.ptr();
}

SegmentedSequences permuted_input() {
  const Sequences read = sequences_of(std::vector<std::vector<std::int64_t>>{{5, 9, 14, 7, 21, 6}, {8, 19, 11}});
  return {.tokens = read, .segments_M = at::zeros_like(read.ids_M)};
}

Tensor query_stream_of(const BertImpl& bert, const SegmentedSequences& input) {
  Pass inference = Pass::inference();
  return bert.forward_queries(input, tokens(kRanksOfTokens), select(kAskedFor, input.tokens.layout, test_device()),
                              inference);
}

double largest_change_of(const Tensor& a, const Tensor& b) { return (a - b).abs().max().item<double>(); }

// A query depends on tokens that come before it in its sentence, and on no others.
void expect_queries_see_what_comes_before(const BertImpl& bert) {
  const at::NoGradGuard no_grad;
  const SegmentedSequences input = permuted_input();
  const Tensor expected = query_stream_of(bert, input);
  const double largest = expected.abs().max().item<double>();
  std::vector<double> seen(kAskedFor.size());  // the largest change by a token that comes before
  for (std::size_t j = 0; j < kRanksOfTokens.size(); ++j) {
    SegmentedSequences changed = input;
    changed.tokens.ids_M = input.tokens.ids_M.clone();
    changed.tokens.ids_M[static_cast<std::int64_t>(j)].add_(12);
    const Tensor found = query_stream_of(bert, changed);
    for (std::size_t k = 0; k < kAskedFor.size(); ++k) {
      const auto i = static_cast<std::size_t>(kAskedFor[k]);
      const auto row = static_cast<std::int64_t>(k);
      const double change = largest_change_of(found[row], expected[row]);
      if ((i < 6) == (j < 6) && kRanksOfTokens[j] < kRanksOfTokens[i]) {
        seen[k] = std::max(seen[k], change);
      } else {
        EXPECT_LE(change, 1e-5 * largest) << "token " << j << ", query " << i;
      }
    }
  }
  for (const double change : seen) EXPECT_GT(change, 1e-4 * largest);
}

// One pass over both sentences equals a pass over each.
void expect_a_batch_is_its_sentences_with_queries(const BertImpl& bert) {
  const at::NoGradGuard no_grad;
  const SegmentedSequences input = permuted_input();
  SegmentedSequences second{.tokens = sequences_of(std::vector<std::vector<std::int64_t>>{{8, 19, 11}}),
                            .segments_M = {}};
  second.segments_M = at::zeros_like(second.tokens.ids_M);
  Pass inference = Pass::inference();
  const Tensor alone =
      bert.forward_queries(second, tokens({2, 1, 3}), select({0}, second.tokens.layout, test_device()), inference);
  const Tensor together = query_stream_of(bert, input);
  EXPECT_LE(largest_change_of(alone, together.narrow(0, 2, 1)), 1e-5 * together.abs().max().item<double>());
}

TEST(Permuted, QueriesOfEveryCombinationSeeWhatComesBeforeThem) {
  for_each_combination(drawn_permuted, permuted_encoder, [](const StackOptions& /*options*/, const BertImpl& bert) {
    expect_queries_see_what_comes_before(bert);
    expect_a_batch_is_its_sentences_with_queries(bert);
  });
}

// The content stream, through all layers of a stack.
Tensor content_stream_of(const StackImpl& stack, const Tensor& x_MH, const Layout& layout,
                         const std::vector<std::int64_t>& ranks) {
  const TwoStreams streams(layout, select({2, 4}, layout, test_device()), tokens(ranks));
  Pass inference = Pass::inference();
  const Tensor queries_KH = at::ones({2, x_MH.size(1)}, x_MH.options());
  return streams.tokens().of(
      stack.forward(streams.joined(x_MH, queries_KH), {.layout = streams.layout, .streams = &streams}, inference));
}

Tensor states_read_by(const StackImpl& stack, const Tensor& x_MH, const Layout& layout) {
  Pass inference = Pass::inference();
  return stack.forward(x_MH, {.layout = layout}, inference);
}

TEST(Permuted, ContentIsACausalModelInTheOrderOfPositionsAndAnEncoderIfAllIsKnown) {
  const at::NoGradGuard no_grad;
  const Layout layout = permuted_input().tokens.layout;
  for (const PositionKind positions : {PositionKind::learned, PositionKind::rotary, PositionKind::alibi}) {
    SCOPED_TRACE(name_of(positions));
    const StackOptions options{.layers = 2,
                               .width = 12,
                               .block = {.heads = 3, .feed_forward = 19, .positions = positions},
                               .initial_deviation = 0.3};
    Stack encoder(options, StackForm()), causal(options, StackForm{.kind = StackKind::language});
    for (Stack stack : {encoder, causal}) {
      initialise(*stack, 7);
      stack->to(test_device());
    }
    const Tensor x_MH = at::sin(at::arange(9 * 12)).view({9, 12}).to(test_device());
    const Tensor in_order = content_stream_of(*encoder, x_MH, layout, {0, 1, 2, 3, 4, 5, 0, 1, 2});
    const Tensor all_known = content_stream_of(*encoder, x_MH, layout, std::vector<std::int64_t>(9, 0));
    EXPECT_LE(largest_change_of(in_order, states_read_by(*causal, x_MH, layout)), 1e-5);
    EXPECT_LE(largest_change_of(all_known, states_read_by(*encoder, x_MH, layout)), 1e-5);
    EXPECT_GT(largest_change_of(in_order, all_known), 1e-2);
  }
}

// A [MASK] of the input is asked for by a query, which sees what is not masked and not what another [MASK] stands for.
TEST(Permuted, MasksAreAskedForFromWhatIsNotMasked) {
  const at::NoGradGuard no_grad;
  StackOptions options;
  options.layers = 2, options.width = 12, options.max_positions = 8, options.initial_deviation = 0.3;
  BertForPretraining model(options, kVocabulary, kQueryPiece);
  initialise(*model, 7);
  model->to(test_device());
  SegmentedSequences input = permuted_input();
  Pass inference = Pass::inference();
  const Selection queried = select({1, 3}, input.tokens.layout, test_device());
  const Tensor known_by_ranks =
      model->bert->forward_queries(input, tokens({0, 1, 0, 1, 0, 0, 0, 0, 0}), queried, inference);
  input.tokens.ids_M = tokens({5, kQueryPiece, 14, kQueryPiece, 21, 6, 8, 19, 11});
  EXPECT_LE(largest_change_of(model->states_of_masked(input, queried, inference), known_by_ranks), 1e-5);
  EXPECT_GT(largest_change_of(model->bert->forward(input, inference, queried), known_by_ranks), 1e-2);
}

}  // namespace
}  // namespace attend

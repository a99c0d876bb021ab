// Gathering rows of an embedding table and of positions, and scattering their gradients.
#pragma once

#include "models/ops/kernels/types.hpp"

namespace attend::ops::kernels {

// y[m] = dropout(table[ids[m]] * scale + positions[places[m]]).
template <class T>
struct Embed {
  const std::int64_t* ids;
  const std::int64_t* places;  // or null, without positions
  const float* table;
  const float* positions;  // or null
  T* y;
  std::int64_t width;
  float scale;
  DropoutMask mask;
};
void embed(const Embed<float>& a, std::int64_t begin, std::int64_t end);
void embed(const Embed<Bf16>& a, std::int64_t begin, std::int64_t end);

// dtable[ids[m]] += scale * d[m] and dpositions[places[m]] += d[m], where d is dy after the dropout mask. Here `begin`
// and `end` count blocks of kWidest columns, so that threads write to disjoint columns and sums are in token order.
template <class T>
struct EmbedBackward {
  const std::int64_t* ids;
  const std::int64_t* places;  // or null, without positions
  const T* dy;
  float* dtable;      // or null
  float* dpositions;  // or null
  std::int64_t num_tokens;
  std::int64_t width;
  float scale;
  DropoutMask mask;
};
void embed_backward(const EmbedBackward<float>& a, std::int64_t begin, std::int64_t end);
void embed_backward(const EmbedBackward<Bf16>& a, std::int64_t begin, std::int64_t end);

}  // namespace attend::ops::kernels

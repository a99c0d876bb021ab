// Floating-point operations of a forward pass, counted from the parameters of a translation model: a matrix of n
// numbers costs 2 n (a product and a sum) at every position where it is applied. Attention itself has no parameters and
// is counted from its widths; local scopes count as global ones, and linear attention as if it formed its weights.
// Norms, gates, softmax, coverage and embeddings, which are looked up, are not counted.
#pragma once

#include "models/run/run.hpp"

namespace attend {

// Operations per target piece, for sentences of S source and T target pieces, both with the end of the sentence.
double flops_per_target_piece(const Run& run, double S, double T);

}  // namespace attend

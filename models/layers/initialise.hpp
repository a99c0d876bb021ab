// Initialisation rules in place of the default of a model family, which the layers define (Layer::initialise). For a
// matrix that maps n_in numbers to n_out:
//
//   xavier-uniform    uniform in ±sqrt(6 / (n_in + n_out))    (Glorot and Bengio 2010, eq. 16)
//   xavier-normal     normal, variance 2 / (n_in + n_out)     (the same, eq. 12)
//   kaiming-uniform   uniform in ±sqrt(6 / n_in), variance 2 / n_in    (He et al. 2015, arXiv 1502.01852, eq. 10)
//   uniform           uniform in ±0.1                         (Luong et al. 2015, 1508.04025, 4.1)
//   orthogonal        W Wᵀ = 1, uniform over all such W       (Saxe, McClelland and Ganguli 2014, 1312.6120)
//
// Matrices stored as one, such as the gates of a cell or q | k | v, are initialised separately, with the n_out of each.
// Biases, norms and the like keep the default of the family (ParameterRole). So do tables, such as those of embeddings,
// which are looked up and have no n_in; only `uniform` includes them, as in its paper, but for tables of sinusoids.
//
//   an LSTM from 3 to 5 has weight_ih [20, 3]; by xavier-uniform its bound is sqrt(6 / (3 + 5)), not sqrt(6 / (3 + 20))
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>

#include "core/options.hpp"

namespace attend {

enum class Initialiser { of_family, xavier_uniform, xavier_normal, kaiming_uniform, uniform };
template <>
inline constexpr auto kEnumNames<Initialiser> = std::to_array<EnumName<Initialiser>>({
    {Initialiser::of_family, "default"},
    {Initialiser::xavier_uniform, "xavier-uniform"},
    {Initialiser::xavier_normal, "xavier-normal"},
    {Initialiser::kaiming_uniform, "kaiming-uniform"},
    {Initialiser::uniform, "uniform"},
});

// Initialisation of the matrices from a cell's hidden state to its gates.
enum class RecurrentInitialiser { of_others, orthogonal };
template <>
inline constexpr auto kEnumNames<RecurrentInitialiser> = std::to_array<EnumName<RecurrentInitialiser>>(
    {{RecurrentInitialiser::of_others, "default"}, {RecurrentInitialiser::orthogonal, "orthogonal"}});

struct InitialiserConfig {
  Initialiser matrices = Initialiser::of_family;
  RecurrentInitialiser recurrent = RecurrentInitialiser::of_others;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("initialiser", self.matrices,
          {.help = "initialisation of matrices: the model family's default, a rule based on their sizes, or uniform in "
                   "±0.1 including the embeddings; biases keep the family's default"});
    visit("recurrent-initialiser", self.recurrent,
          {.help = "initialisation of the matrices from hidden state to gates: as --initialiser (default), or "
                   "orthogonal for each gate",
           .only = {"model", {"luong", "bahdanau", "fixed"}}});
  }
};

// Initialises every Layer below `root` as initialise() of layers.hpp, and then its matrices by `config`, unless that is
// the default. Every matrix has its own random stream, so the result does not depend on threads or the machine.
void initialise(const torch::nn::Module& root, const InitialiserConfig& config, std::uint64_t seed);

}  // namespace attend

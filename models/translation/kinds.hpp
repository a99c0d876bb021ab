// The kinds of translation models and of their parts, with their names in options.
#pragma once

#include "core/options.hpp"

namespace attend {

enum class ModelKind { transformer, luong, bahdanau, fixed };
template <>
inline constexpr auto kEnumNames<ModelKind> = std::to_array<EnumName<ModelKind>>({
    {ModelKind::transformer, "transformer"},
    {ModelKind::luong, "luong"},
    {ModelKind::bahdanau, "bahdanau"},
    {ModelKind::fixed, "fixed"},
});

// The part of an LSTM's state that is used: its hidden state h or its cell state c.
enum class StateKind { hidden, cell };
template <>
inline constexpr auto kEnumNames<StateKind> = std::to_array<EnumName<StateKind>>({{StateKind::hidden, "hidden"},
                                                                                  {StateKind::cell, "cell"}});

// The steps at which a decoder without attention reads its context.
enum class ContextUse { once, every };
template <>
inline constexpr auto kEnumNames<ContextUse> = std::to_array<EnumName<ContextUse>>({{ContextUse::once, "once"},
                                                                                    {ContextUse::every, "every"}});

// How the embeddings of source factors join that of a piece.
enum class FactorCombination { sum, concat };
template <>
inline constexpr auto kEnumNames<FactorCombination> = std::to_array<EnumName<FactorCombination>>(
    {{FactorCombination::sum, "sum"}, {FactorCombination::concat, "concat"}});

}  // namespace attend

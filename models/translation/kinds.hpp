// The kinds of translation models and of their parts, with their names in options.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "core/options.hpp"

namespace attend {

enum class ModelKind { transformer, luong, bahdanau, fixed };
template <>
struct EnumNames<ModelKind> {
  static constexpr std::array names{std::pair{ModelKind::transformer, std::string_view("transformer")},
                                    std::pair{ModelKind::luong, std::string_view("luong")},
                                    std::pair{ModelKind::bahdanau, std::string_view("bahdanau")},
                                    std::pair{ModelKind::fixed, std::string_view("fixed")}};
};

// The part of an LSTM's state that is used: its hidden state h or its cell state c.
enum class StateKind { hidden, cell };
template <>
struct EnumNames<StateKind> {
  static constexpr std::array names{std::pair{StateKind::hidden, std::string_view("hidden")},
                                    std::pair{StateKind::cell, std::string_view("cell")}};
};

// The steps at which a decoder without attention reads its context.
enum class ContextUse { once, every };
template <>
struct EnumNames<ContextUse> {
  static constexpr std::array names{std::pair{ContextUse::once, std::string_view("once")},
                                    std::pair{ContextUse::every, std::string_view("every")}};
};

}  // namespace attend

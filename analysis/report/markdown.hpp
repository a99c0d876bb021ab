// report.md: the sentences and tables of the page, without its charts and its attention.
#pragma once

#include <string>
#include <vector>

#include "analysis/report/comparison.hpp"
#include "analysis/report/language_comparison.hpp"
#include "analysis/report/sections.hpp"

namespace attend {

std::string report_markdown(const Comparison& comparison);
std::string report_markdown(const LanguageComparison& comparison);

// A page of sections alone.
std::string sections_markdown(const std::string& title, const std::vector<Section>& sections);

}  // namespace attend

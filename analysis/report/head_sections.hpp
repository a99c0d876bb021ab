// The sections of a report on attention heads.
#pragma once

#include <string>
#include <vector>

#include "analysis/report/head_report.hpp"
#include "analysis/report/sections.hpp"

namespace attend {

// The run and the data, then sections 1 to 3: roles, relations, silencing. Of recurrent attention, only what it loses
// with other weights.
std::vector<Section> sections_of(const HeadReport& report);
std::string head_page(const HeadReport& report);      // index.html
std::string head_markdown(const HeadReport& report);  // report.md

}  // namespace attend

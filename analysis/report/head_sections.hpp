// The sections of a report on attention heads.
#pragma once

#include "analysis/report/head_report.hpp"
#include "analysis/report/sections.hpp"

namespace attend {

// The run and the data, then sections 1 to 3: roles, relations, silencing. Of recurrent attention, only what it loses
// with other weights.
SectionReport section_report(const HeadReport& report);

}  // namespace attend

// report.json: all of a Comparison, a LanguageComparison, a TaskComparison, a HeadReport, a Probing or a Faithfulness.
// Members are named after its fields; matrices of attention weights are base64 of their bytes; numbers that are missing
// or not finite are null.
#pragma once

#include <string>

#include "analysis/report/comparison.hpp"
#include "analysis/report/faithfulness_sections.hpp"
#include "analysis/report/head_report.hpp"
#include "analysis/report/probe_sections.hpp"

namespace attend {

// An indented JSON text with a final newline. Bytes that are not UTF-8 become U+FFFD.
std::string report_json(const Comparison& comparison);
std::string report_json(const LanguageComparison& comparison);
std::string report_json(const TaskComparison& comparison);
std::string report_json(const HeadReport& report);
std::string report_json(const Probing& probing);
std::string report_json(const Faithfulness& faithfulness);

}  // namespace attend

// The files of page/, embedded at build time (embed.cmake).
#pragma once

#include <string_view>

namespace attend::page_files {

extern const std::string_view kReportHtml;
extern const std::string_view kSentencesHtml;
extern const std::string_view kReportCss;
extern const std::string_view kReportJs;
extern const std::string_view kReportJsSha256;  // 64 hexadecimal digits

}  // namespace attend::page_files

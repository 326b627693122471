# SUDA2 and individual risk by sdcMicro's own code, from its source: it needs R, Rcpp and a compiler.
#   Rscript benchmarks/sdcmicro.R FOLDER_OF_SDCMICRO
folder <- normalizePath(commandArgs(trailingOnly = TRUE)[1])
part <- tempfile(fileext = ".cpp")
plain <- tempfile()
dir.create(plain)
text <- readLines(file.path(folder, "src", "0Main.cpp"))
header <- readLines(file.path(folder, "src", "Suda2.h"))  # its export cannot stand beside another one
writeLines(sub("^// \\[\\[Rcpp::export\\]\\]", "", header), file.path(plain, "Suda2plain.h"))
writeLines(c(
  sub('"Suda2.h"', '"Suda2plain.h"', text), "// [[Rcpp::export]]",
  "SEXP suda(SEXP x, SEXP gone, SEXP k, SEXP f, SEXP own) { return Suda2(x, gone, k, f, own); }"
), part)
Sys.setenv(
  PKG_CPPFLAGS = paste0("-I", plain, " -I", file.path(folder, "src")), PKG_CXXFLAGS = "-std=gnu++17 -w"
)
Rcpp::sourceCpp(part)

special <- function(name, table, own = TRUE) {
  cells <- data.matrix(data.frame(lapply(table, function(x) if (is.numeric(x)) x else factor(x))))
  found <- suda(cells, -999, ncol(cells), 0.01, own)$Res
  n <- ncol(cells)
  score <- found[, n + 1]
  dis <- found[, n + 2]
  cat("\n", name, if (own) "" else " (original_scores = FALSE)", "\n", sep = "")
  cat("records, sum and highest score:", sum(score > 0), sum(score), max(score), "; first", score[1], "\n")
  cat("DIS, highest and sum:", sprintf("%.6f", c(max(dis), sum(dis))), "\n")
  cat("share of each column, %:", sprintf("%.4f", 100 * colSums(found[, 1:n] * score) / sum(score)), "\n")
  breaks <- c(-1, seq(0, 0.7, 0.1) + .Machine$double.eps, Inf)
  cat("records by DIS, as its print does it:", as.numeric(table(cut(dis, breaks))), "\n")
  if (length(score) <= 10) print(rbind(score, dis), digits = 7)
}

load(file.path(folder, "data", "testdata.RData"))
load(file.path(folder, "data", "testdata2.RData"))
keys <- c("urbrur", "roof", "walls", "water", "electcon", "relat", "sex")
special("testdata, 7 columns", testdata[, keys])
special("testdata, 7 columns", testdata[, keys], FALSE)
special("testdata, the 5 columns of its help page", testdata[, keys[c(1:4, 7)]])
special("testdata2, 7 columns", testdata2[, keys])
guide <- data.frame(
  residence = c("U", "U", "U", "U", "R", "U", "U", "U", "U", "U"),
  gender = c("F", "F", "F", "M", "F", "M", "F", "M", "F", "F"),
  education = c("SI", "SI", "PI", "SC", "SC", "SC", "PC", "PS", "SI", "SI"),
  labour = c("E", "E", "N", "E", "U", "E", "N", "U", "N", "N")
)
for (own in c(TRUE, FALSE)) special("the guide's ten records", guide, own)

source(file.path(folder, "R", "indivRisk.R"))
key <- do.call(paste, testdata[, keys])
counted <- list(
  freqCalc = testdata[, keys], keyVars = keys,
  fk = ave(rep(1, nrow(testdata)), key, FUN = sum), Fk = ave(testdata$sampling_weight, key, FUN = sum)
)
risk <- indivRisk(counted)$rk
home <- 1 - tapply(1 - risk, testdata$ori_hid, prod)
cat("\ntestdata, individual risk (approx): sum, highest", sprintf("%.6f", c(sum(risk), max(risk))), "\n")
cat("households: sum, and over records", sprintf("%.6f", c(sum(home), sum(home[as.character(testdata$ori_hid)]))), "\n")
cat("exact: records without a figure", sum(is.na(indivRisk(counted, method = "exact")$rk)), "\n")

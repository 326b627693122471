# Rows of R's synthpop with its default method, as benchmarks/rivals.py asks for them; prints seconds.
#   Rscript benchmarks/synthpop.R FOLDER_OF_ITS_SOURCES PEOPLE.csv OUT.csv SEED
# Without a folder ("") the installed package is taken.
args <- commandArgs(trailingOnly = TRUE)
if (nzchar(args[1])) {
  for (name in c("MASS", "nnet", "rpart", "plyr", "stringr")) library(name, character.only = TRUE)
  for (file in list.files(file.path(args[1], "R"), full.names = TRUE)) source(file)
} else {
  library(synthpop)
}
people <- read.csv(args[2], stringsAsFactors = TRUE)
begun <- sum(proc.time()[1:2])
# rpart tries all splits of the levels that explain a factor: columns of many levels come last, as its authors advise
levels <- sapply(people, nlevels)
sequence <- if (sum(levels > 2) > 1) c(which(levels <= 20), which(levels > 20)) else seq_along(people)
made <- syn(people, visit.sequence = sequence, seed = as.integer(args[4]), print.flag = FALSE, maxfaclevels = 100)$syn
seconds <- sum(proc.time()[1:2]) - begun
write.csv(made, args[3], row.names = FALSE)
cat("\n", seconds, "\n")

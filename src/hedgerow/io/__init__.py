"""Read and write tables: text files, Parquet, workbooks, statistical files and data frames."""

"""Reading and writing tables: text, Parquet, workbooks, statistical files, frames."""

-- Tables of the statement of check_sql, from the values of sensitive columns to the gain and loss of every group under
-- every score. Their names begin with {p}; braces are filled in by the code.
-- how often each group has each value of a sensitive column, as a rank (code) and as a number (y)
{p}counts AS (SELECT col, grp, code, y, COUNT(*) AS c FROM {p}values GROUP BY col, grp, code, y),
-- the same of the whole table
{p}public AS (SELECT col, code, y, SUM(c) AS c FROM {p}counts GROUP BY col, code, y),
-- of ordered columns: records up to each value, and records of the next one
{p}ranks AS (
  SELECT col, code, c, SUM(c) OVER (PARTITION BY col ORDER BY code) AS upto, SUM(c) OVER (PARTITION BY col) AS n,
    LEAD(c) OVER (PARTITION BY col ORDER BY code) AS above
  FROM {p}public WHERE y IS NOT NULL AND col IN ({ordered})),
-- a cell ends at a value whose share, or that of the next, is above one part of {{parts}}, and where parts end
{p}cuts AS (
  SELECT col, code, CASE WHEN upto < n AND ({parts} * c > n OR {parts} * above > n
    OR {parts} * upto - MOD({parts} * upto, n) > {parts} * (upto - c) - MOD({parts} * (upto - c), n))
    THEN 1 ELSE 0 END AS cut FROM {p}ranks),
-- the cell of each value: cells that ended before it
{p}placed AS (SELECT col, code, SUM(cut) OVER (PARTITION BY col ORDER BY code) - cut AS cell FROM {p}cuts),
-- the events of each score: cells, single categories, missing or not, declared events
{p}cells AS (
  SELECT col, 'ranked' AS score, code, cell FROM {p}placed
  UNION ALL SELECT col, 'local', code, cell FROM {p}placed
  UNION ALL SELECT col, 'brier', code, code FROM {p}public WHERE y IS NOT NULL AND col NOT IN ({ordered})
  UNION ALL SELECT col, 'missing', code, CASE WHEN y IS NULL THEN 1 ELSE 0 END FROM {p}public{flags}),
-- records of a group in a cell, and all of the group
{p}merged AS (
  SELECT col, score, grp, cell, CAST(SUM(c) AS DOUBLE) AS c,
    CAST(SUM(SUM(c)) OVER (PARTITION BY col, score, grp) AS DOUBLE) AS n
  FROM {p}counts JOIN {p}cells USING (col, code) GROUP BY col, score, grp, cell),
-- the public share of each cell; of ranked events, that of the cell or below
{p}whole AS (
  SELECT col, score, cell, CASE WHEN score = 'ranked' THEN SUM(SUM(c)) OVER (PARTITION BY col, score ORDER BY cell)
    ELSE SUM(c) END / SUM(SUM(c)) OVER (PARTITION BY col, score) AS p FROM {p}merged GROUP BY col, score, cell),
-- sums of public shares up to each cell, which scores of the whole table are made from
{p}shares AS (
  SELECT col, score, cell, p, SUM(p) OVER (PARTITION BY col, score) AS summed,
    SUM(p) OVER (PARTITION BY col, score ORDER BY cell) - p AS below, COUNT(*) OVER (PARTITION BY col, score) AS m,
    SUM(p * p) OVER (PARTITION BY col, score) AS square, SUM(p * (1 - p)) OVER (PARTITION BY col, score) AS spread
  FROM {p}whole),
-- by group and cell: the loss of the public guess, the share up to it (f), the cells to the group's next one (width)
{p}terms AS (
  SELECT col, score, grp, c, n, p, square, spread,
    CASE WHEN score = 'ranked' THEN m - cell - 2 * (summed - below) ELSE 1 - 2 * p END + square AS loss,
    SUM(c) OVER (PARTITION BY col, score, grp ORDER BY cell) / n AS f,
    COALESCE(LEAD(cell) OVER (PARTITION BY col, score, grp ORDER BY cell), m) - cell AS width,
    COALESCE(LEAD(below) OVER (PARTITION BY col, score, grp ORDER BY cell), summed) - below AS along
  FROM {p}merged JOIN {p}shares USING (col, score, cell) WHERE spread > 0),
-- numbers between 0 and 1
{p}scaled AS (
  SELECT col, grp, (y - MIN(y) OVER (PARTITION BY col))
    / NULLIF(MAX(y) OVER (PARTITION BY col) - MIN(y) OVER (PARTITION BY col), 0) AS x
  FROM {p}values WHERE y IS NOT NULL AND col IN ({numbers})),
-- their distance from the mean
{p}off AS (SELECT col, grp, x - AVG(x) OVER (PARTITION BY col) AS d FROM {p}scaled),
-- a loss counts as at least a quarter of the variance
{p}squares AS (SELECT col, grp, d, AVG(d * d) OVER (PARTITION BY col) / 4 AS least FROM {p}off),
-- what a group's own distribution gains over the public one, and the loss of the public one
{p}scored AS (
  SELECT col, grp, MAX(n * square) + SUM(CASE WHEN score = 'ranked' THEN n * f * (f * width - 2 * along)
    ELSE c * (c / n - 2 * p) END) AS gain, SUM(c * GREATEST(loss, spread / 4)) AS loss
  FROM {p}terms GROUP BY col, score, grp
  UNION ALL SELECT col, grp, SUM(d) * SUM(d) / COUNT(*), SUM(GREATEST(d * d, least)) FROM {p}squares
  GROUP BY col, grp)

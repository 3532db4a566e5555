"""Text tables: lines, layout, cells, clocks."""

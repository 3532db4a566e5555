"""Pages of runs are opened as those of reports are."""

from tests.report.conftest import browser as browser
from tests.report.conftest import opened as opened

# `make check` does what CI does, in the environment you are in (pip install -e '.[dev,hosts]').

.PHONY: check test lint types coverage format mutants fuzz schemas suite bench clean

check: lint types coverage

test:
	pytest

lint:
	ruff format --check .
	ruff check .

types:
	mypy
	pyright

coverage:
	pytest --cov --cov-report=term:skip-covered

format:
	ruff format .
	ruff check --fix .

clean:
	rm -rf build dist *.egg-info .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis

# `make check` does what CI does, in the environment you are in (pip install -e '.[dev,hosts]').

.PHONY: check test lint types coverage format hosts mutants mutants-core exhaustive hostile fuzz fuzz-short \
        determinism schemas suite bench clean

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

hosts:                                    # needs .[hosts], and .[bench] for the peers
	CONSTRAIN_DOCUMENTS=1000 pytest tests/test_hosts.py tests/test_peers.py tests/test_examples.py \
	    tests/test_transformers_documents.py

mutants:                                  # every mutant, and which test kills it
	CONSTRAIN_MUTANTS=1 pytest tests/test_mutants.py -v

schemas:                                  # real schemas, open objects; needs ../shared/data
	python tests/real_schemas.py --open --jobs 2

suite:                                    # the JSON-Schema-Test-Suite against the recorded outcomes
	python tests/schema_suite.py

mutants-core:                             # mistakes in every module of the core; some minutes
	python tests/mutants/run.py

exhaustive:                               # all small schemas and documents; all counts; half an hour
	CONSTRAIN_EXHAUSTIVE=1 pytest tests/test_small_worlds.py tests/test_counted.py tests/test_strides.py

hostile:                                  # N hostile files, schemas and patterns, each bounded
	python tests/hostile.py $(or $(N),2000)

fuzz:                                     # half an hour in all, or TIME seconds a target; needs .[fuzz]
	python tests/fuzz/run.py all $(or $(TIME),450)

fuzz-short:                               # twelve seconds a target, from a fixed seed; needs .[fuzz]
	python tests/fuzz/run.py all 12 1

determinism:                              # the same bytes with the NumPy line before
	python -m venv build/numpy
	build/numpy/bin/pip install -q -e . "numpy==$(or $(NUMPY),2.3.*)"
	DETERMINISM_NUMPY=$(CURDIR)/build/numpy/bin/python pytest tests/test_determinism.py

bench:                                    # needs .[bench], and a machine that does nothing else
	for part in compile mask load command growth; do python tests/benchmarks $$part || exit 1; done

format:
	ruff format .
	ruff check --fix .

clean:
	rm -rf build dist *.egg-info .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis

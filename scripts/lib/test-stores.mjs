import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { commandPath, softhsmLibrary } from './commands.mjs';
import { removePostgres, startPostgres } from './postgres.mjs';
import { isAlive, signal, until } from './processes.mjs';
import { startRedis, stopRedis } from './redis.mjs';
import { step } from './steps.mjs';

const PREFIX = 'sealwright-test-';

/** Tests kill processes but not the machine, so committed data survives in the page cache. */
const WITHOUT_POWER_CUTS = { fsync: 'off', full_page_writes: 'off' };

/** TestStores manages the stores of one test run: a directory and servers, which are removed afterwards along with all processes that the tests started. */
export class TestStores {
  #directory;
  #mark = randomBytes(12).toString('hex');
  #servers = [];
  #settings;

  /** @param {{ durable?: boolean }} options `durable`: PostgreSQL waits for the disk as in production, for benches and proofs */
  constructor({ durable = false } = {}) {
    this.#settings = durable ? {} : WITHOUT_POWER_CUTS;
  }

  /**
   * Creates only the directory, for tests that need no stores.
   *
   * @returns {Promise<NodeJS.ProcessEnv>} TMPDIR, below which everything is removed
   */
  async folder() {
    await sweepOldRuns();
    this.#directory = mkdtempSync(path.join(tmpdir(), `${PREFIX}${process.pid}-`));
    // The account of the database server must be able to traverse the directory. The contents have separate permissions.
    chmodSync(this.#directory, 0o711);
    const temporary = path.join(this.#directory, 'tmp');
    mkdirSync(temporary, { mode: 0o711 });
    return { TMPDIR: temporary, SW_TEST_RUN: this.#mark };
  }

  /**
   * @returns {Promise<NodeJS.ProcessEnv>} environment for the tests: SW_TEST_DATABASE_URL (superuser), SW_TEST_REDIS_URL and
   * SW_TEST_SOFTHSM (the module), each if available; SW_TEST_EVIDENCE, in which tests store issued secrets and logs; and TMPDIR, below which everything is
   * removed
   */
  async start() {
    const found = { ...(await this.folder()), SW_TEST_EVIDENCE: this.#inside('evidence') };
    mkdirSync(found.SW_TEST_EVIDENCE, { mode: 0o700 });
    const postgres = await step('PostgreSQL for tests', (note) =>
      startPostgres({ dir: this.#inside('postgres'), settings: this.#settings, log: note }),
    );
    this.#servers.push(postgres);
    found.SW_TEST_DATABASE_URL = postgres.adminUrl;
    if (commandPath('redis-server') ?? commandPath('valkey-server')) {
      const redis = await step('Redis for tests', () => startRedis({ dir: this.#inside('redis') }));
      this.#servers.push(redis);
      found.SW_TEST_REDIS_URL = redis.url;
    }
    const library = softhsmLibrary();
    if (library !== undefined) found.SW_TEST_SOFTHSM = library;
    return found;
  }

  /** Ends processes left behind by tests, stops the servers and removes the directory. */
  async stop() {
    if (this.#directory === undefined) return;
    await endProcessesOf(this.#directory, this.#mark);
    for (const server of this.#servers.splice(0).reverse()) await server.stop();
    await removePostgres(this.#inside('postgres'));
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #inside(name) {
    return path.join(this.#directory, name);
  }
}

/** Removes directories that killed runs left behind. The name of a directory contains the ID of the dead process. */
async function sweepOldRuns() {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(PREFIX))) {
    const directory = path.join(tmpdir(), name);
    const pid = Number(name.slice(PREFIX.length).split('-')[0]);
    if (!(pid > 0) || isAlive(pid)) continue;
    try {
      await endProcessesOf(directory);
      await stopRedis(path.join(directory, 'redis'));
      await removePostgres(path.join(directory, 'postgres'));
      rmSync(directory, { recursive: true, force: true });
    } catch (error) {
      // The directory belongs to another account, whose next run removes it.
      if (error.code !== 'EACCES' && error.code !== 'EPERM') throw error;
    }
  }
}

/** Ends processes whose working directory is below `directory`, or whose environment contains the run's marker (Linux only). */
async function endProcessesOf(directory, mark) {
  const found = () => pids().filter((pid) => pid !== process.pid && (worksBelow(pid, directory) || carries(pid, mark)));
  const servers = new Set(['postgres', 'redis'].map((name) => path.join(directory, name)));
  const strays = found().filter((pid) => ![...servers].some((home) => worksBelow(pid, home)));
  for (const pid of strays) signal(pid, 'SIGKILL');
  await until(() => strays.every((pid) => !isAlive(pid)), 5000);
}

function pids() {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

function worksBelow(pid, directory) {
  try {
    const cwd = readlinkSync(`/proc/${pid}/cwd`);
    return cwd === directory || cwd.startsWith(`${directory}/`);
  } catch {
    return false;
  }
}

function carries(pid, mark) {
  try {
    return mark !== undefined && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`SW_TEST_RUN=${mark}`);
  } catch {
    return false;
  }
}

import { spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { commandPath, softhsmLibrary } from './commands.mjs';
import { Failure } from './failure.mjs';
import { privateDirectory, secretIn, writePrivate } from './private-files.mjs';

const PROMPT = /enter (?:SO|user) PIN: /g;

/**
 * createToken creates a SoftHSM token in `dir` on the first call. The configuration, PINs (mode 600) and objects are stored in `dir`.
 * Later calls return the same token. See softhsm.d.mts for the result.
 */
export async function createToken({ dir, label }) {
  if (!/^[\w.-]{1,32}$/.test(label))
    throw new Failure(`"${label}" is not a valid token label`, 'Use letters, digits, - and _.');
  const library = softhsmLibrary();
  const tool = commandPath('softhsm2-util');
  if (library === undefined || tool === undefined) {
    throw new Failure(
      'SoftHSM 2 is not installed',
      'Install softhsm2, or set SVC_PKCS11_LIBRARY to the module of your HSM.',
    );
  }
  const home = privateDirectory(path.resolve(dir));
  const tokens = path.join(home, 'tokens');
  const conf = path.join(home, 'softhsm2.conf');
  const pinFile = path.join(home, 'user.pin');
  const marker = path.join(home, 'label');
  const environment = { SOFTHSM2_CONF: conf };
  writePrivate(
    conf,
    `directories.tokendir = ${tokens}\nobjectstore.backend = file\nlog.level = ERROR\nslots.removable = false\n`,
  );
  if (existsSync(marker)) {
    refuseOtherToken(home, marker, pinFile, label);
  } else {
    // A token without the marker was left by an interrupted attempt and was never used.
    rmSync(tokens, { recursive: true, force: true });
    privateDirectory(tokens);
    const pins = { so: secretIn(path.join(home, 'so.pin'), newPin), user: secretIn(pinFile, newPin) };
    await initialise(tool, label, pins, { ...process.env, ...environment });
    writeFileSync(marker, `${label}\n`);
  }
  return { library, conf, label, pinFile, environment };
}

function refuseOtherToken(home, marker, pinFile, label) {
  const made = readFileSync(marker, 'utf8').trim();
  if (made !== label)
    throw new Failure(`${home} holds the token "${made}", not "${label}"`, 'Use another directory for another token.');
  if (!existsSync(pinFile)) {
    throw new Failure(
      `The PIN of the token in ${home} is missing`,
      `Restore it as ${pinFile}. Without it, the keys in the token cannot be used.`,
    );
  }
}

function newPin() {
  return Array.from({ length: 16 }, () => randomInt(10)).join('');
}

async function initialise(tool, label, pins, environment) {
  const script = commandPath('script');
  const env = { ...environment, SHELL: '/bin/sh', TOKEN_TOOL: tool, TOKEN_LABEL: label };
  const said = script === undefined ? byArguments(tool, label, pins, env) : await byPrompts(script, pins, env);
  const slots = spawnSync(tool, ['--show-slots'], { env, encoding: 'utf8' }).stdout;
  if (slots.split('\n').some((line) => line.split(':')[1]?.trim() === label)) return;
  throw new Failure(
    'SoftHSM could not create the token',
    `Check that there is enough space, and that this account can write to ${path.dirname(env.SOFTHSM2_CONF)}.`,
    said,
  );
}

/**
 * Initializes the token with PINs entered at prompts, so that no PIN is in the arguments. softhsm2-util prompts only on a terminal, which `script` provides.
 */
function byPrompts(script, { so, user }, env) {
  const line = '"$TOKEN_TOOL" --init-token --free --label "$TOKEN_LABEL"';
  const linux = ['-qefc', line, '/dev/null'];
  const bsd = ['-q', '/dev/null', '/bin/sh', '-c', line];
  const answers = [so, so, user, user];
  return new Promise((resolve) => {
    const child = spawn(script, process.platform === 'linux' ? linux : bsd, { env, stdio: ['pipe', 'pipe', 'pipe'] });
    const patience = setTimeout(() => child.kill('SIGKILL'), 20_000);
    let said = '';
    let asked = 0;
    child.stdout.on('data', (chunk) => {
      said += chunk;
      for (const prompts = said.match(PROMPT)?.length ?? 0; asked < prompts; asked += 1) {
        if (answers[asked] !== undefined) child.stdin.write(`${answers[asked]}\r`);
      }
    });
    child.stderr.on('data', (chunk) => (said += chunk));
    child.stdin.on('error', () => {});
    child.on('error', (error) => (said += error.message));
    child.on('close', () => {
      clearTimeout(patience);
      resolve(said.replaceAll(so, '…').replaceAll(user, '…'));
    });
  });
}

/** Initializes the token without a terminal. The PINs are in the arguments of a process that runs for a few milliseconds. */
function byArguments(tool, label, { so, user }, env) {
  const result = spawnSync(tool, ['--init-token', '--free', '--label', label, '--so-pin', so, '--pin', user], {
    env,
    encoding: 'utf8',
  });
  return `${result.stdout}${result.stderr}`;
}

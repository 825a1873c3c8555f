import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { has } from '../../support/peers.js';
import { portableExecutable } from '../../support/portable-executable.js';

const PROGRAM = join(import.meta.dirname, '../../../dist/sealwright.js');
const BOOT = '/usr/lib/systemd/boot/efi/systemd-bootx64.efi';

/** Whether the programs and Debian packages required by the tool tests are installed. */
export const hasTools =
  ['pkcs11/p11-kit-client.so', 'engines-3/pkcs11.so'].every((file) => isInLib(file)) &&
  ['pkcs11-tool', 'jarsigner', 'osslsigncode', 'sbsign', 'apksigner'].every((program) => has(program)) &&
  existsSync(BOOT);

function isInLib(file: string): boolean {
  return readdirSync('/usr/lib').some((folder) => existsSync(join('/usr/lib', folder, file)));
}

export interface ToolRun {
  readonly code: number;
  readonly signal: string | null;
  /** Combined output on stdout and stderr. */
  readonly text: string;
}

export interface RunningTool {
  readonly pid: number;
  /** Returns the output so far. */
  text(): string;
  isRunning(): boolean;
  kill(signal: NodeJS.Signals): void;
  readonly ended: Promise<ToolRun>;
}

/** A directory with files to sign, in which `sealwright` is available as a command. */
export class ToolBench {
  readonly directory = mkdtempSync(join(tmpdir(), 'sealwright-tools-'));
  private readonly environment: NodeJS.ProcessEnv;

  constructor(access: { readonly url: string; readonly token: string }) {
    const bin = join(this.directory, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'sealwright'), `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`);
    chmodSync(join(bin, 'sealwright'), 0o755);
    this.environment = {
      PATH: `${bin}:${process.env['PATH']}`,
      HOME: this.directory,
      SEALWRIGHT_URL: access.url,
      SEALWRIGHT_TOKEN: access.token,
    };
  }

  /** Returns the PATH of the commands that run in the directory. */
  get path(): string {
    return this.environment['PATH'] ?? '';
  }

  at(name: string): string {
    return join(this.directory, name);
  }

  keep(name: string, content: string | Buffer): string {
    writeFileSync(this.at(name), content);
    return this.at(name);
  }

  /** Creates new files of each type that can be signed. */
  makeFiles(): void {
    this.keep('app.bin', `released at ${process.hrtime.bigint()}`);
    this.keep('app.exe', portableExecutable(`${process.hrtime.bigint()}`));
    copyFileSync(BOOT, this.at('boot.efi'));
    const manifest = '<?xml version="1.0"?><manifest/>';
    this.keep('AndroidManifest.xml', manifest);
    this.keep('classes.dex', `${process.hrtime.bigint()}`);
    for (const name of ['app.jar', 'app.apk', 'signed.exe', 'signed.efi', 'signed.apk'])
      rmSync(this.at(name), { force: true });
    execFileSync('jar', ['cf', this.at('app.jar'), '-C', this.directory, 'app.bin']);
    execFileSync('jar', ['cMf', this.at('app.apk'), '-C', this.directory, 'AndroidManifest.xml', '-C', this.directory, 'classes.dex']); // prettier-ignore
  }

  /** Runs shell commands and stops at the first failure. */
  start(lines: string, more: NodeJS.ProcessEnv = {}): RunningTool {
    const child = spawn('sh', ['-e', '-c', lines], {
      cwd: this.directory,
      env: { ...this.environment, ...more },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    let text = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
    const ended = once(child, 'close').then(() => ({ code: child.exitCode ?? -1, signal: child.signalCode, text }));
    return {
      pid: child.pid ?? 0,
      text: () => text,
      isRunning: () => child.exitCode === null && child.signalCode === null,
      kill: (signal) => void process.kill(-(child.pid ?? 0), signal),
      ended,
    };
  }

  run(lines: string, more?: NodeJS.ProcessEnv): Promise<ToolRun> {
    return this.start(lines, more).ended;
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

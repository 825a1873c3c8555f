import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Servers {
  close(): Promise<void>;
}

interface Order {
  readonly directory: string;
  readonly address: string;
  readonly ports: { readonly ssh: number; readonly tls?: number };
  /** Network namespace in which the servers run; undefined for the current namespace. */
  readonly namespace?: string;
}

const HOST_KEYS = ['ed25519', 'ecdsa', 'rsa'] as const;
const TLS_SERVER = `
const { createServer } = require('node:tls'); const { readFileSync } = require('node:fs');
const [key, cert, port] = process.argv.slice(1);
const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (socket) => socket.end());
server.on('tlsClientError', () => {}); server.listen(Number(port), '0.0.0.0', 4096, () => console.log('listening'));
`;

/** Starts a real sshd without a practical connection limit, and a TLS server if `ports.tls` is set. */
export async function startServers({ directory: parent, address, ports, namespace }: Order): Promise<Servers> {
  const directory = mkdtempSync(join(parent, 'servers-'));
  const inside = (command: string[]) =>
    namespace === undefined ? command : ['ip', 'netns', 'exec', namespace, ...command];
  mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  for (const kind of HOST_KEYS)
    execFileSync('ssh-keygen', ['-q', '-t', kind, '-N', '', '-f', join(directory, `host_${kind}`)]);
  const lines = [
    `ListenAddress ${address}`,
    `Port ${ports.ssh}`,
    ...HOST_KEYS.map((kind) => `HostKey ${join(directory, `host_${kind}`)}`),
    `PidFile ${join(directory, 'pid')}`,
    'MaxStartups 1000:30:2000',
    'UsePAM no',
    'UseDNS no',
    '',
  ];
  writeFileSync(join(directory, 'sshd_config'), lines.join('\n'));
  const log = join(directory, 'log');
  const sshd = start(inside(['/usr/sbin/sshd', '-D', '-f', join(directory, 'sshd_config'), '-E', log]));
  const running = [sshd];
  for (let tries = 0; !(existsSync(log) && readFileSync(log, 'utf8').includes('Server listening')); tries += 1) {
    if (tries > 500 || sshd.exitCode !== null) throw new Error('sshd did not start');
    await sleep(10);
  }
  if (ports.tls !== undefined) running.push(await tlsServer(directory, ports.tls, inside));
  return {
    close: async () => {
      for (const child of running) {
        if (child.exitCode !== null || child.signalCode !== null) continue;
        child.kill('SIGTERM');
        await once(child, 'exit');
      }
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function tlsServer(
  directory: string,
  port: number,
  inside: (command: string[]) => string[],
): Promise<ChildProcess> {
  const [key, certificate] = [join(directory, 'tls.key'), join(directory, 'tls.crt')];
  const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=live', '-days', '2'];
  execFileSync('openssl', ['req', '-x509', ...made, '-keyout', key, '-out', certificate], { stdio: 'ignore' });
  const child = start(inside([process.execPath, '-e', TLS_SERVER, key, certificate, String(port)]));
  if (child.stdout !== null) await once(child.stdout, 'data');
  return child;
}

function start([program = '', ...args]: string[]): ChildProcess {
  return spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
}

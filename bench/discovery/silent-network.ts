import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { type Servers, startServers } from './servers.js';

/** A network in which one address in a hundred has SSH and TLS servers and all other addresses stay silent. */
export interface SilentNetwork {
  readonly cidr: string;
  readonly live: number;
  /** Returns the number of connection attempts to dead addresses since the last call. Retransmitted SYNs are counted once. */
  counted(): Promise<{ attempts: number; addresses: number }>;
  close(): Promise<void>;
}

const GATEWAY = { here: '10.98.77.1', there: '10.98.77.2' };

/**
 * Python program that counts SYN packets. Retransmissions are recognized by their ports, address and sequence number. For each line of input, the program
 * prints the count since the previous line.
 */
const COUNTER = `
import socket, sys, threading
live = set(sys.argv[2].split(','))
seen = set(); lock = threading.Lock()
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
raw.setsockopt(socket.SOL_SOCKET, 33, 64 * 1024 * 1024)
raw.bind((sys.argv[1], 0))
def listen():
    while True:
        frame = raw.recv(200)
        if len(frame) < 54 or frame[23] != 6: continue
        at = 14 + (frame[14] & 15) * 4
        if frame[at + 13] & 18 != 2: continue
        to = socket.inet_ntoa(frame[30:34])
        if to in live or not to.startswith('10.99.'): continue
        with lock: seen.add((frame[30:34], frame[at:at + 4], frame[at + 4:at + 8]))
threading.Thread(target=listen, daemon=True).start()
for _ in sys.stdin:
    with lock:
        print(len(seen), flush=True); seen.clear()
`;

export function canMakeSilence(): boolean {
  if (process.getuid?.() !== 0 || spawnSync('python3', ['--version']).status !== 0) return false;
  const made = spawnSync('ip', ['netns', 'add', 'sealwright-try']).status === 0;
  if (made) spawnSync('ip', ['netns', 'del', 'sealwright-try']);
  return made;
}

/** Creates the network 10.99.0.0/`bits` behind a pair of virtual interfaces. Other machines are not affected, and `close` removes the network. */
export async function silentNetwork(
  bits: number,
  directory: string,
  ports: { ssh: number; tls: number },
): Promise<SilentNetwork> {
  const name = `sealwright-${process.pid}`;
  const [near, far] = [`sw${process.pid}a`, `sw${process.pid}b`];
  const size = 2 ** (32 - bits);
  const live = Array.from({ length: Math.floor(size / 100) }, (_, i) => addressAt(i * 100 + 37));
  const ip = (...args: string[]) => execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'inherit'] });
  let servers: Servers | undefined;
  let counter: ChildProcess | undefined;
  const close = async () => {
    await servers?.close();
    counter?.kill();
    spawnSync('ip', ['link', 'del', near]);
    spawnSync('ip', ['netns', 'del', name]);
  };
  try {
    ip('netns', 'add', name);
    ip('link', 'add', near, 'type', 'veth', 'peer', 'name', far);
    ip('link', 'set', far, 'netns', name);
    ip('addr', 'add', `${GATEWAY.here}/30`, 'dev', near);
    ip('link', 'set', near, 'up');
    ip('-n', name, 'addr', 'add', `${GATEWAY.there}/30`, 'dev', far);
    for (const device of [far, 'lo']) ip('-n', name, 'link', 'set', device, 'up');
    ip('route', 'add', `10.99.0.0/${bits}`, 'via', GATEWAY.there);
    // The namespace does not forward packets, so packets to non-local addresses are dropped silently.
    const routes = live.map((address) => `route add local ${address}/32 dev lo\n`).join('');
    execFileSync('ip', ['-n', name, '-batch', '-'], { input: routes });
    servers = await startServers({ directory, address: '0.0.0.0', ports, namespace: name });
    counter = spawn('ip', ['netns', 'exec', name, 'python3', '-c', COUNTER, far, live.join(',')], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
  } catch (error) {
    await close();
    throw error;
  }
  const counting = counter;
  const counted = async () => {
    counting.stdin?.write('\n');
    const [line] = (await once(counting.stdout as NodeJS.ReadableStream, 'data')) as [Buffer];
    return { attempts: Number(line.toString()), addresses: size - live.length };
  };
  return { cidr: `10.99.0.0/${bits}`, live: live.length, counted, close };
}

function addressAt(index: number): string {
  return `10.99.${index >> 8}.${index & 255}`;
}

import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { freePort } from '../../scripts/lib/ports.mjs';
import { until } from '../support/signing.js';

/** rsyslog as a receiver of syslog over TLS (RFC 5425), with its own certificate. */
export class Rsyslog {
  private process: ChildProcess | undefined;

  private constructor(
    private readonly directory: string,
    readonly port: number,
  ) {}

  static async in(directory: string): Promise<Rsyslog> {
    const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
    const names = ['-subj', '/CN=siem', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const files = ['-keyout', join(directory, 'siem.key'), '-out', join(directory, 'siem.pem')];
    execFileSync('openssl', [...made, ...names, ...files], { stdio: 'ignore' });
    return new Rsyslog(directory, await freePort());
  }

  get certificate(): string {
    return join(this.directory, 'siem.pem');
  }

  /** Returns all received messages. */
  lines(): string[] {
    const file = join(this.directory, 'received.log');
    return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
  }

  /** Resolves when rsyslog accepts connections. */
  async start(): Promise<void> {
    const file = join(this.directory, 'rsyslog.conf');
    const pem = `defaultNetstreamDriverCAFile="${this.certificate}" defaultNetstreamDriverCertFile="${this.certificate}"`;
    writeFileSync(
      file,
      `global(workDirectory="${this.directory}" maxMessageSize="64k" ${pem} defaultNetstreamDriverKeyFile="${join(this.directory, 'siem.key')}")
module(load="imtcp" StreamDriver.Name="ossl" StreamDriver.Mode="1" StreamDriver.AuthMode="anon")
input(type="imtcp" address="127.0.0.1" port="${this.port}")
template(name="received" type="string" string="%rawmsg%\\n")
action(type="omfile" file="${join(this.directory, 'received.log')}" template="received")
`,
    );
    this.process = spawn('/usr/sbin/rsyslogd', ['-n', '-f', file, '-i', join(this.directory, 'rsyslog.pid')], {
      stdio: 'ignore',
    });
    await until('rsyslog takes connections', 20, () => isOpen(this.port));
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    const child = this.process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, 'exit');
  }
}

function isOpen(port: number): Promise<true | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(undefined));
    socket.once('connect', () => socket.end());
  });
}

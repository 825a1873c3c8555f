import { execFileSync, type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
  readFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../scripts/lib/ports.mjs';
import { until } from '../support/signing.js';

/** Directory of Debian's package after it has been downloaded and unpacked. */
const CACHE = join(tmpdir(), 'sealwright-simplesamlphp');

/** Unpacks Debian's package without installing it, which would add a web server. Returns undefined if the package is unavailable. */
function unpacked(): string | undefined {
  const root = join(CACHE, 'usr/share/simplesamlphp');
  if (existsSync(join(root, 'www'))) return root;
  // Tests in other files may unpack the package at the same time. Each test uses a separate directory, and the first one to finish provides the cache.
  const own = mkdtempSync(`${CACHE}-`);
  spawnSync('apt-get', ['download', 'simplesamlphp'], { cwd: own });
  const file = readdirSync(own).find((name) => /^simplesamlphp_.*\.deb$/.test(name));
  if (file !== undefined) {
    execFileSync('dpkg-deb', ['-x', join(own, file), own]);
    try {
      renameSync(own, CACHE);
    } catch {
      // Another process has already provided the cache.
    }
  }
  rmSync(own, { recursive: true, force: true });
  return existsSync(root) ? root : undefined;
}

const hasPhp = () => /^(dom|xml)$/m.test(spawnSync('php', ['-m'], { encoding: 'utf8' }).stdout ?? '');
export const SIMPLESAMLPHP = hasPhp() ? unpacked() : undefined;

export interface SamlAccount {
  readonly uid: string;
  readonly email: string;
  readonly groups: readonly string[];
}

interface ServiceProvider {
  readonly entityId: string;
  readonly acsUrl: string;
  /** Which parts of a response to sign; by default, both the assertion and the response. */
  readonly signs?: { readonly assertion: boolean; readonly response: boolean };
  /** Certificate whose public key encrypts the assertion (base64 without PEM markers). */
  readonly encryptsFor?: string;
  /** Enables single logout and requires the service to sign messages with the key of this certificate (base64 without PEM markers). */
  readonly logout?: {
    readonly url: string;
    readonly binding: 'HTTP-Redirect' | 'HTTP-POST';
    readonly certificate: string;
  };
}

/** SimpleSAMLphp as an identity provider on `localhost`, which is a different site than the service on 127.0.0.1. */
export class SamlPeer {
  private readonly directory = mkdtempSync(join(tmpdir(), 'sealwright-idp-'));
  private php: ChildProcess | undefined;
  private port = 0;
  certificate = '';
  /** Private key as PEM, for signing messages with a single fault. */
  privateKey = '';

  /** Returns the provider's URL. Available after `start`. */
  get url(): string {
    return `http://localhost:${this.port}`;
  }

  get entityId(): string {
    return `${this.url}/saml2/idp/metadata.php`;
  }

  get entryPoint(): string {
    return `${this.url}/saml2/idp/SSOService.php`;
  }

  get logoutUrl(): string {
    return `${this.url}/saml2/idp/SingleLogoutService.php`;
  }

  /** Returns the URL of the page on which people sign out at the provider. */
  get signOutPage(): string {
    return `${this.url}/saml2/idp/initSLO.php?RelayState=${encodeURIComponent(this.entityId)}`;
  }

  async start(sp: ServiceProvider, accounts: readonly SamlAccount[]): Promise<void> {
    this.port = await freePort();
    this.configure(sp, accounts);
    const www = join(this.directory, 'app/www');
    this.php = spawn('php', ['-d', 'opcache.enable=0', '-S', `localhost:${this.port}`, '-t', www], {
      env: { ...process.env, SIMPLESAMLPHP_CONFIG_DIR: join(this.directory, 'config'), PHP_CLI_SERVER_WORKERS: '4' },
      stdio: 'ignore',
      detached: true,
    });
    await until('SimpleSAMLphp answers', 50, async () => {
      const answer = await fetch(`${this.url}/saml2/idp/metadata.php`).catch(() => undefined);
      return answer?.ok === true;
    });
  }

  stop(): void {
    if (this.php?.pid !== undefined && this.php.exitCode === null) process.kill(-this.php.pid, 'SIGKILL');
    rmSync(this.directory, { recursive: true, force: true });
  }

  private configure(sp: ServiceProvider, accounts: readonly SamlAccount[]): void {
    const inside = (name: string) => join(this.directory, name);
    for (const name of ['config', 'metadata', 'cert', 'log', 'tmp', 'data', 'sessions']) mkdirSync(inside(name));
    cpSync(SIMPLESAMLPHP ?? '', inside('app'), { recursive: true, verbatimSymlinks: true });
    const subject = ['-subj', '/CN=test identity provider', '-days', '30', '-nodes'];
    const files = ['-keyout', inside('cert/idp.pem'), '-out', inside('cert/idp.crt')];
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', ...subject, ...files], { stdio: 'pipe' });
    this.certificate = readFileSync(inside('cert/idp.crt'), 'utf8');
    this.privateKey = readFileSync(inside('cert/idp.pem'), 'utf8');
    writeFileSync(inside('config/config.php'), this.config());
    writeFileSync(inside('config/authsources.php'), authSources(accounts));
    this.describe(sp);
    mkdirSync(inside('app/modules/exampleauth'), { recursive: true });
    writeFileSync(inside('app/modules/exampleauth/enable'), '');
  }

  /** Registers the service at the provider and sets the signature algorithm. Takes effect with the next response. */
  describe(sp: ServiceProvider, signature = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256'): void {
    writeFileSync(join(this.directory, 'metadata/saml20-idp-hosted.php'), hosted(signature));
    writeFileSync(join(this.directory, 'metadata/saml20-sp-remote.php'), remote(sp));
  }

  private config(): string {
    const at = (name: string) => `'${join(this.directory, name)}/'`;
    return `<?php $config = [
      'baseurlpath' => '${this.url}/', 'certdir' => ${at('cert')}, 'loggingdir' => ${at('log')}, 'datadir' => ${at('data')},
      'tempdir' => ${at('tmp')}, 'metadatadir' => ${at('metadata')}, 'secretsalt' => '${createHash('sha256').update(this.directory).digest('hex')}',
      'auth.adminpassword' => '${createHash('sha256').update(`${this.directory} admin`).digest('hex')}', 'technicalcontact_email' => 'na@example.org', 'timezone' => 'UTC',
      'logging.handler' => 'file', 'logging.level' => 7, 'enable.saml20-idp' => true, 'store.type' => 'phpsession',
      'session.phpsession.savepath' => ${at('sessions')}, 'session.cookie.secure' => false, 'session.phpsession.cookiename' => 'SimpleSAML',
      'session.cookie.samesite' => null, 'language.default' => 'en', 'module.enable' => ['exampleauth' => true, 'core' => true, 'saml' => true],
      'metadata.sources' => [['type' => 'flatfile', 'directory' => ${at('metadata')}]], 'enable.http_post' => true,
    ];`;
  }
}

/** Each account's password is the same as its uid. */
function authSources(accounts: readonly SamlAccount[]): string {
  const people = accounts.map(({ uid, email, groups }) => {
    const list = groups.map((group) => `'${group}'`).join(', ');
    return `'${uid}:${uid}' => ['uid' => ['${uid}'], 'email' => ['${email}'], 'groups' => [${list}]]`;
  });
  return `<?php $config = ['people' => ['exampleauth:UserPass', ${people.join(', ')}]];`;
}

const hosted = (signature: string) => `<?php $metadata['__DYNAMIC:1__'] = [
  'host' => '__DEFAULT__', 'privatekey' => 'idp.pem', 'certificate' => 'idp.crt', 'auth' => 'people', 'signature.algorithm' => '${signature}', 'userid.attribute' => 'uid',
  'NameIDFormat' => 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
  'authproc' => [3 => ['class' => 'saml:AttributeNameID', 'attribute' => 'uid', 'Format' => 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent']],
];`;

const remote = ({
  entityId,
  acsUrl,
  logout,
  signs = { assertion: true, response: true },
  encryptsFor,
}: ServiceProvider) => `<?php $metadata['${entityId}'] = [
  'AssertionConsumerService' => '${acsUrl}', 'saml20.sign.assertion' => ${signs.assertion}, 'saml20.sign.response' => ${signs.response},
  ${encryptsFor === undefined ? '' : `'assertion.encryption' => true, 'certData' => '${encryptsFor}',`}
  'NameIDFormat' => 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',${logout === undefined ? '' : signingOut(logout)}
];`;

const signingOut = ({ url, binding, certificate }: NonNullable<ServiceProvider['logout']>) => `
  'SingleLogoutService' => [['Binding' => 'urn:oasis:names:tc:SAML:2.0:bindings:${binding}', 'Location' => '${url}']],
  'certData' => '${certificate}', 'sign.logout' => true, 'validate.logout' => true, 'validate.authnrequest' => true,`;

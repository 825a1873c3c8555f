import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const CERTIFICATES = join(import.meta.dirname, '../../../shared/data/certs/limbo');
const run = (program: string, args: string[], cwd: string) => execFileSync(program, args, { cwd, stdio: 'pipe' });

export interface ScannedTree {
  /** Parts of each private key in the tree, in base64 or hex, which must not leave the machine. */
  readonly secrets: string[];
  readonly passwords: string;
}

/** Uses openssl, keytool and ssh-keygen to create files like those on a real machine, and adds configuration files and source code in several languages. */
export function makeTree(root: string): ScannedTree {
  for (const directory of ['etc/nginx', 'etc/ssh', 'etc/pki', 'home/ada/.ssh', 'src/lib'])
    mkdirSync(join(root, directory), { recursive: true });
  const openssl = (...args: string[]) => run('openssl', args, root);
  openssl('req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', 'etc/pki/shop.key', '-out', 'etc/pki/shop.pem', '-days', '90', '-subj', '/CN=shop.corp.example'); // prettier-ignore
  openssl('ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', 'etc/pki/ec.key');
  openssl(
    'req',
    '-x509',
    '-key',
    'etc/pki/ec.key',
    '-out',
    'etc/pki/ec.der',
    '-outform',
    'DER',
    '-days',
    '90',
    '-subj',
    '/CN=der.corp.example',
  );
  openssl('pkcs8', '-topk8', '-in', 'etc/pki/ec.key', '-out', 'etc/pki/sealed.key', '-passout', 'pass:s3cret-Pass');
  openssl('pkcs12', '-export', '-inkey', 'etc/pki/shop.key', '-in', 'etc/pki/shop.pem', '-out', 'etc/pki/shop.p12', '-passout', 'pass:st0re-Pass', '-name', 'shop'); // prettier-ignore
  run('keytool', ['-genkeypair', '-alias', 'legacy', '-keyalg', 'RSA', '-keysize', '1024', '-dname', 'CN=legacy.corp.example', '-keystore', 'etc/pki/legacy.jks', '-storetype', 'JKS', '-storepass', 'changeit', '-keypass', 'changeit', '-validity', '90'], root); // prettier-ignore
  run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'ada@laptop', '-f', 'home/ada/.ssh/id_ed25519'], root);
  run(
    'ssh-keygen',
    ['-q', '-t', 'rsa', '-b', '2048', '-N', 'passphrase', '-C', 'ada@old', '-f', 'home/ada/.ssh/id_rsa'],
    root,
  );
  const line = readFileSync(join(root, 'home/ada/.ssh/id_ed25519.pub'), 'utf8');
  const write = (path: string, text: string) => writeFileSync(join(root, path), text);
  write('home/ada/.ssh/authorized_keys', `command="backup --token t0ken-Secret" ${line}`);
  write('etc/nginx/nginx.conf', 'server {\n  ssl_protocols TLSv1 TLSv1.2;\n  ssl_ciphers ECDHE-RSA-AES128-GCM-SHA256:DES-CBC3-SHA:!aNULL;\n}\n'); // prettier-ignore
  write('etc/ssh/sshd_config', 'Ciphers aes256-gcm@openssh.com,3des-cbc\nKexAlgorithms diffie-hellman-group1-sha1\n');
  write('etc/openssl.cnf', '[req]\ndefault_bits = 1024\ndefault_md = sha1\nMinProtocol = TLSv1.1\n');
  write('src/App.java', 'class App { void a() throws Exception {\n  Cipher.getInstance("DES/ECB/PKCS5Padding");\n  // MessageDigest.getInstance("MD2")\n}}\n'); // prettier-ignore
  write('src/lib/sums.py', 'import hashlib\npassword = "hunter2-Secret"\ndigest = hashlib.md5(b"x")\n');
  write('src/lib/sums.go', 'package lib\nvar sum = sha1.Sum([]byte("x"))\n');
  write(
    'src/lib/seal.js',
    "createCipheriv('aes-128-cbc', key, iv);\ngenerateKeyPairSync('rsa', { modulusLength: 1024 });\n",
  );
  write('src/lib/seal.c', 'void f(void) { EVP_CIPHER_CTX_init(c); EVP_EncryptInit(c, EVP_rc4(), k, v); }\n');
  write('src/lib/Seal.cs', 'class Seal { object o = new TripleDESCryptoServiceProvider(); }\n');
  write('src/lib/seal.php', '<?php $x = openssl_encrypt($d, "bf-cbc", $k);\n');
  write('src/lib/seal.rb', 'Digest::SHA256.hexdigest("x")\n');
  write('src/lib/seal.rs', 'fn f() { let h = Sha512::new(); }\n');
  if (existsSync(CERTIFICATES))
    for (const name of readdirSync(CERTIFICATES).slice(0, 5))
      cpSync(join(CERTIFICATES, name), join(root, 'etc/pki', `limbo-${name}`));
  return { secrets: secretsIn(root), passwords: 'wrong-one\nst0re-Pass\n' };
}

/** Returns the end of each PEM body, which belongs to the private part of the key. */
function secretsIn(root: string): string[] {
  const body = (path: string) => readFileSync(join(root, path), 'utf8').replaceAll(/-----[^-]+-----|\s/g, '');
  const files = [
    'etc/pki/shop.key',
    'etc/pki/ec.key',
    'etc/pki/sealed.key',
    'home/ada/.ssh/id_ed25519',
    'home/ada/.ssh/id_rsa',
  ];
  const scalar = /priv:\s*([0-9a-f:\s]+?)pub:/.exec(
    run('openssl', ['ec', '-in', 'etc/pki/ec.key', '-text', '-noout'], root).toString(),
  )?.[1];
  const hex = (scalar ?? '').replaceAll(/[^0-9a-f]/g, '');
  const middles = files.filter((file) => !file.endsWith('ec.key')).map((file) => body(file).slice(-120, -60));
  return [
    ...middles,
    hex,
    Buffer.from(hex, 'hex').toString('base64').slice(2, -4),
    's3cret-Pass',
    'st0re-Pass',
    'changeit',
    't0ken-Secret',
    'hunter2-Secret',
  ];
}

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Service } from '../../support/service.js';
import { createKey } from '../../support/signing.js';
import { canRunSshd, type Sshd, startSshd } from '../../support/sshd.js';
import { openStage, type Stage } from '../../support/stage.js';
import { requireApprover, voting } from './approving.js';
import { hasTools, ToolBench } from './tool-bench.js';

let stage: Stage;
let service: Service;
let apiKey: string;
let bench: ToolBench;
let sshd: Sshd;

describe.runIf(hasTools && canRunSshd())('an SSH login with an HSM key through PKCS #11', () => {
  beforeAll(async () => {
    stage = await openStage();
    ({ apiKey } = await stage.seed());
    service = await stage.start();
    bench = new ToolBench({ url: service.url, token: apiKey });
    sshd = await startSshd({ users: ['deploy'] });
    for (const [name, type] of [
      ['login-rsa', 'rsa-3072'],
      ['login-ec', 'ec-p256'],
      ['login-asked', 'ec-p256'],
    ] as const)
      await createKey(service, apiKey, { name, type, purpose: 'ssh-login' });
    await createKey(service, apiKey, { name: 'release', type: 'ec-p256', purpose: 'code-signing' });
  });
  afterAll(async () => {
    await sshd.close();
    bench.remove();
    await stage.close();
  });

  const exec = (key: string, command: string) => `sealwright exec --key ${key} --purpose ssh-login -- ${command}`;
  const ssh = () =>
    `ssh -F none -I '{module}' -o IdentitiesOnly=no -o IdentityAgent=none -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes -p ${sshd.port} deploy@${sshd.address} id -un`;

  async function authorize(key: string): Promise<void> {
    const { text } = await bench.run(exec(key, `ssh-keygen -D '{module}'`));
    sshd.authorize('deploy', /^(?:ssh-rsa|ecdsa-sha2-nistp256) \S+/m.exec(text)?.[0] ?? '');
  }

  it.each(['login-rsa', 'login-ec'])('%s logs in to the account', async (key) => {
    await authorize(key);
    const run = await bench.run(exec(key, ssh()));
    expect(run).toMatchObject({ code: 0, text: expect.stringContaining('deploy') });
  });

  it('succeeds after an approval that shows it is a login', async () => {
    await authorize('login-asked');
    const voter = voting({ service }, await requireApprover({ stage, service, apiKey }, ['login-asked']));
    const run = await bench.run(exec('login-asked', ssh()));
    await voter.stop();
    expect(run).toMatchObject({ code: 0, text: expect.stringContaining('deploy') });
    expect(voter.voted[0]?.shown).toMatchObject({
      metadata: { saidByClient: { program: 'ssh', purpose: 'ssh-login' } },
    });
  });

  it.each(['--purpose ssh-login', ''])('does not offer a release key to ssh: %s', async (purpose) => {
    const tool = `sealwright exec --key ${purpose === '' ? 'login-ec' : 'release'} ${purpose} -- ${ssh()}`;
    expect(await bench.run(tool)).toMatchObject({ code: 2, text: expect.stringMatching(/is for (?:code-signing|ssh-login), not for/) }); // prettier-ignore
  });
});

import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { held, newGuardedKey } from '../../approvals/approvers.js';
import { idOf } from '../../auth/people.js';
import { CLIENT, OpenIdPeer } from '../../fakes/openid-provider.js';
import { SamlPeer, SIMPLESAMLPHP } from '../../fakes/simplesamlphp.js';
import { digestOf } from '../../support/signing.js';
import { visit } from '../console.js';
import { anHourLater, type ConsolePlace, navigation } from '../place.js';

const RULES = [{ claim: 'groups', op: 'equals', value: 'release', roles: ['operator', 'approver'] }];

/** SQL condition for active OpenID sessions. */
const BY_OPENID = `way = 'oidc' AND ended_at IS NULL`;

/** Signs in through the provider and returns to the page that was requested. */
async function through(
  { browser, url }: ConsolePlace,
  label: string,
  name: string,
  atProvider: (page: Page) => Promise<void>,
  onward?: (page: Page) => Promise<void>,
) {
  const { page, close, assertClean } = await visit(browser, `${url}/keys`);
  await page.getByRole('link', { name: `Sign in with ${label}` }).click();
  await atProvider(page);
  await page.waitForURL(`${url}/keys`);
  await navigation(page).waitFor({ state: 'attached' });
  await page.getByRole('heading', { level: 1, name: 'Signing keys' }).waitFor();
  await page.getByRole('button', { name: `Signed in as ${name}` }).waitFor();
  await onward?.(page);
  assertClean();
  await close();
}

async function put({ service, apiKey }: ConsolePlace, path: string, change: object): Promise<void> {
  const body = { enabled: true, rules: RULES, ...change };
  const answer = await service.call('PUT', `/api/settings/identity-providers/${path}`, { key: apiKey, body });
  expect(answer.status).toBe(200);
}

async function atOpenId(page: Page): Promise<void> {
  await shownAtOpenId(page);
  await page.getByRole('button', { name: 'Continue' }).click();
}

/** Enters the account at the provider, which has already shown the consent page. */
async function shownAtOpenId(page: Page): Promise<void> {
  await page.getByPlaceholder('Enter any login').fill('ada');
  await page.getByPlaceholder('and password').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
}

/** Performs a sensitive action an hour after the sign-in, which requires step-up at the provider and returns to the same page. */
async function confirmed(place: ConsolePlace, page: Page): Promise<void> {
  const { url } = place;
  await anHourLater(place, BY_OPENID);
  await page.goto(`${url}/profile`);
  const add = async () => {
    await page.getByRole('button', { name: 'Add an authenticator app' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Continue' }).click();
  };
  await add();
  await page.getByRole('button', { name: 'Go to the identity provider' }).click();
  await shownAtOpenId(page);
  await page.waitForURL(`${url}/profile`);
  await page.getByText('Your identity was confirmed.').waitFor();
  await add();
  await page.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor();
}

/** Votes an hour later. The comment entered before the redirect to the provider is preserved. */
async function votes(place: ConsolePlace, page: Page, email: string): Promise<void> {
  const id = await idOf(place.stage, email);
  const { key } = await newGuardedKey(place, [{ members: [{ id }], threshold: 1 }], { commentRequired: true });
  const { approvalId } = await held(place, { digest: digestOf(email), key: key.name });
  await anHourLater(place, BY_OPENID);
  await page.goto(`${place.url}/approvals/${approvalId}`);
  const dialog = page.getByRole('dialog');
  const comment = dialog.getByRole('textbox', { name: 'Comment' });
  const approve = page.getByRole('button', { name: 'Approve', exact: true });
  await approve.click();
  await comment.fill('Built from the tag, tests are green.');
  await dialog.getByRole('button', { name: 'Approve', exact: true }).click();
  await page.getByRole('button', { name: 'Go to the identity provider' }).click();
  await shownAtOpenId(page);
  await page.getByText('Your identity was confirmed.').waitFor();
  await approve.click();
  expect(await comment.inputValue()).toBe('Built from the tag, tests are green.');
  await dialog.getByRole('button', { name: 'Approve', exact: true }).click();
  await page.getByText('Approval recorded').first().waitFor();
  expect(await page.evaluate(() => JSON.stringify(sessionStorage))).not.toContain('Built from the tag');
}

export function singleSignOnJourneys(at: () => ConsolePlace): void {
  it('signs in through an OpenID provider, returns to the requested page, and performs step-up at the provider', async () => {
    const idp = new OpenIdPeer();
    await idp.start(`${at().url}/api/auth/oidc/callback/main`);
    idp.accounts.set('ada', { email: 'ada@oidc.example', groups: ['release'] });
    const client = { issuer: idp.issuer, clientId: CLIENT.id, clientSecret: CLIENT.secret };
    await put(at(), 'oidc/main', { label: 'OpenID', ...client });
    const email = 'ada@oidc.example';
    await through(at(), 'OpenID', email, atOpenId, async (page) => {
      await confirmed(at(), page);
      await votes(at(), page, email);
    });
    await idp.stop();
  });

  it.skipIf(SIMPLESAMLPHP === undefined)(
    'signs in through a SAML provider and returns to the requested page',
    async () => {
      const idp = new SamlPeer();
      const [entityId = '', acsUrl = ''] = ['metadata', 'callback'].map((name) => `${at().url}/api/auth/saml/${name}`);
      const account = { uid: 'bea', email: 'bea@saml.example', groups: ['release'] };
      await idp.start({ entityId, acsUrl }, [account]);
      const { entityId: issuer, entryPoint, certificate } = idp;
      await put(at(), 'saml/other', { label: 'SAML', entityId: issuer, entryPoint, certificates: [certificate] });
      await through(at(), 'SAML', 'bea@saml.example', async (page) => {
        await page.locator('[name=username]').fill('bea');
        await page.locator('[name=password]').fill('bea');
        await page.locator('[name=password]').press('Enter');
      });
      idp.stop();
    },
  );
}

import type { AudienceRestrictionXML } from '@node-saml/node-saml/lib/types.js';
import {
  AbstractStrategy,
  type Profile,
  SAML,
  type SamlConfig,
  type VerifyWithoutRequest,
} from '@node-saml/passport-saml';

type Outcome = { readonly url: string } | { readonly profile: Profile };
type SamlRequest = Parameters<AbstractStrategy['authenticate']>[0];

/** Returns the URL with an AuthnRequest (HTTP-Redirect binding). */
export async function requestUrl(config: SamlConfig): Promise<string> {
  const outcome = await new OneAttempt(config).outcomeOf({});
  if ('url' in outcome) return outcome.url;
  throw new Error('passport-saml returned a profile instead of a redirect');
}

/**
 * Returns the profile in a response (HTTP-POST binding, base64).
 *
 * @throws Error with the reason if passport-saml rejects the response.
 */
export async function profileIn(config: SamlConfig, encoded: string): Promise<Profile> {
  const outcome = await new OneAttempt(config).outcomeOf({ SAMLResponse: encoded });
  if ('profile' in outcome) return outcome.profile;
  throw new Error('passport-saml returned a redirect instead of a profile');
}

/** Requests is node-saml with two changes: the NameIDPolicy, which node-saml always sends, can be omitted, and white space in Audience elements is trimmed. */
class Requests extends SAML {
  /** Omits the NameIDPolicy if no format is set: AD FS rejects a policy that it cannot satisfy, even one without a format (MSIS7070). */
  protected override async generateAuthorizeRequestAsync(isPassive: boolean, isPost: boolean): Promise<string> {
    const xml = await super.generateAuthorizeRequestAsync(isPassive, isPost);
    return this.options.identifierFormat === null ? xml.replace(/<samlp:NameIDPolicy [^<>]*\/>/, '') : xml;
  }

  /** Collapses the white space of an Audience, which is an anyURI (XML Schema part 2, section 3.2.17). */
  protected override checkAudienceValidityError(
    expected: string,
    restrictions: AudienceRestrictionXML[] = [],
  ): Error | null {
    const trimmed = restrictions.map(({ Audience: audiences = [] }) => ({
      Audience: audiences.map(({ _: text }) => ({
        _: typeof text === 'string' ? text.replaceAll(/[ \t\r\n]+/g, ' ').replaceAll(/^ | $/g, '') : '',
      })),
    }));
    return super.checkAudienceValidityError(expected, trimmed);
  }
}

const takeProfile: VerifyWithoutRequest = (profile, done) => done(null, profile ?? undefined);
/** Rejects logout messages, which saml-logout-message.ts reads instead, because passport-saml also reads unsigned parts of a message. */
const refuseLogout: VerifyWithoutRequest = (_profile, done) => done(new Error('this is a logout message'));

/** OneAttempt is passport-saml's strategy for a single attempt at one provider. Passport's middleware would share one strategy between attempts. */
class OneAttempt extends AbstractStrategy {
  static override readonly newSamlProviderOnConstruct = false;

  constructor(config: SamlConfig) {
    super(config, takeProfile, refuseLogout);
    this._saml = new Requests(config);
  }

  outcomeOf(body: Record<string, string>): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.success = (profile) => resolve({ profile: profile as Profile });
      this.redirect = (url) => resolve({ url });
      this.fail = () => reject(new Error('the profile is missing'));
      this.error = reject;
      this.pass = () => reject(new Error('this is a logout message'));
      this.authenticate({ body, query: {}, headers: {} } as SamlRequest, {});
    });
  }
}

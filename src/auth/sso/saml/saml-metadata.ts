import { escaped } from './saml-messages.js';
import type { Config } from '../../../platform/config/config.js';

export interface SamlAddresses {
  readonly entityId: string;
  /** Assertion consumer service. */
  readonly acsUrl: string;
  /** Single logout service. */
  readonly logoutUrl: string;
}

/** Returns the entity ID and endpoints of this service, which are the same for every provider. */
export function ourSamlAddresses({ publicUrl }: Config): SamlAddresses {
  const at = (name: string): string => `${publicUrl}/api/auth/saml/${name}`;
  return { entityId: at('metadata'), acsUrl: at('callback'), logoutUrl: at('logout') };
}

export interface ServiceProvider {
  readonly entityId: string;
  readonly acsUrl: string;
  readonly logoutUrl: string;
  readonly signsRequests: boolean;
  /** PEM certificate; undefined for a provider created by an earlier version until the provider is saved again. */
  readonly certificate: string | undefined;
  /** NameID format of requests; if null, the provider decides. */
  readonly nameIdFormat: string | null;
}

const BINDING = 'urn:oasis:names:tc:SAML:2.0:bindings';

/** Returns the metadata of this service for a provider (SAML metadata, section 2.4.4). The schema prescribes the order of elements. */
export function samlMetadataOf(serviceProvider: ServiceProvider): string {
  const { entityId, acsUrl, logoutUrl, signsRequests, certificate, nameIdFormat } = serviceProvider;
  const key = certificate?.replaceAll(/-----[A-Z ]+-----|\s/g, '');
  const keys =
    key === undefined
      ? ''
      : `<md:KeyDescriptor use="signing"><ds:KeyInfo><ds:X509Data><ds:X509Certificate>${key}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>`;
  const logout =
    key === undefined
      ? ''
      : ['HTTP-Redirect', 'HTTP-POST']
          .map((name) => `<md:SingleLogoutService Binding="${BINDING}:${name}" Location="${escaped(logoutUrl)}"/>`)
          .join('');
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" xmlns:ds="http://www.w3.org/2000/09/xmldsig#" entityID="${escaped(entityId)}">`,
    `<md:SPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol" AuthnRequestsSigned="${signsRequests}" WantAssertionsSigned="true">`,
    keys,
    logout,
    nameIdFormat === null ? '' : `<md:NameIDFormat>${escaped(nameIdFormat)}</md:NameIDFormat>`,
    `<md:AssertionConsumerService Binding="${BINDING}:HTTP-POST" Location="${escaped(acsUrl)}" index="1" isDefault="true"/>`,
    '</md:SPSSODescriptor></md:EntityDescriptor>',
  ].join('');
}

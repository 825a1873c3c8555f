import { Name, Nested, OneOf, Optional, Text } from '../../../platform/http/fields/fields.js';
import { MAX_TYPED_PASSWORD_LENGTH } from '../../model/password-rules.js';
import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, IsArray, IsInt, IsObject, IsOptional, Length, Matches, MaxLength } from 'class-validator';

const BASE64URL = /^[A-Za-z0-9_-]*$/;

class PublicKeyCredentialBody {
  /** @example bWFkZS1ieS1hbi1hdXRoZW50aWNhdG9y */
  @Matches(BASE64URL) @Length(1, 1400) id: string;
  /** @example bWFkZS1ieS1hbi1hdXRoZW50aWNhdG9y */
  @Matches(BASE64URL) @Length(1, 1400) rawId: string;
  @OneOf(['public-key']) type: 'public-key';
  @Optional(OneOf(['platform', 'cross-platform'])) authenticatorAttachment?: 'platform' | 'cross-platform';
  @ApiProperty({ type: 'object', additionalProperties: true, example: {} })
  @IsObject()
  clientExtensionResults: Record<string, never>;
}

class AttestationBody {
  /** @example eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIn0 */
  @Matches(BASE64URL) @Length(1, 4000) clientDataJSON: string;
  /** @example o2NmbXRkbm9uZWdhdHRTdG10oGhhdXRoRGF0YVg */
  @Matches(BASE64URL) @Length(1, 20_000) attestationObject: string;
  /** Sent by browsers; ignored. @example o2NmbXRkbm9uZWdhdHRTdG10 */
  @IsOptional() @Matches(BASE64URL) @MaxLength(20_000) authenticatorData?: string;
  /** Sent by browsers; ignored. @example MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE */
  @IsOptional() @Matches(BASE64URL) @MaxLength(8000) publicKey?: string;
  /** Sent by browsers; ignored. @example -7 */
  @IsOptional() @IsInt() publicKeyAlgorithm?: number;
  /** Transports through which the authenticator can be reached. */
  @ApiProperty({ example: ['internal'], required: false })
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(10)
  @Matches(/^[a-z-]{1,20}$/, { each: true })
  transports?: string[];
}

class AssertionBody {
  /** @example eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0 */
  @Matches(BASE64URL) @Length(1, 4000) clientDataJSON: string;
  /** @example SZYN5YgOjGh0NBcPZHZgW4_krrmihjLHmVzzuoMdl2MFAAAAAQ */
  @Matches(BASE64URL) @Length(1, 4000) authenticatorData: string;
  /** @example MEUCIQDx */
  @Matches(BASE64URL) @Length(1, 8000) signature: string;
  /** @example MDE5NDVmMmU */
  @IsOptional() @Matches(BASE64URL) @MaxLength(200) userHandle?: string;
}

/** The result of `navigator.credentials.create()`, serialized with `toJSON()`. */
export class NewPasskeyBody extends PublicKeyCredentialBody {
  @Nested(AttestationBody) response: AttestationBody;
}

/** The result of `navigator.credentials.get()`, serialized with `toJSON()`. */
export class PasskeyAnswerBody extends PublicKeyCredentialBody {
  @Nested(AssertionBody) response: AssertionBody;
}

export class ConfirmPasskeyBody {
  /** Name of the passkey. @example 'security key' */
  @Name(1, 60) name: string;
  @Nested(NewPasskeyBody) credential: NewPasskeyBody;
}

export class PasskeyChallengeBody {
  /** @example ada@example.com */
  @Text(3, 254) email: string;
  /** @example correct-horse-battery-staple */
  @Text(1, MAX_TYPED_PASSWORD_LENGTH) password: string;
}

export class PasskeyOptionsView {
  /** Options for `PublicKeyCredential.parseCreationOptionsFromJSON()` or `parseRequestOptionsFromJSON()`. */
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { challenge: 'p8yB0m1t', rpId: 'sign.example.com', userVerification: 'preferred' },
  })
  publicKey: object;
}

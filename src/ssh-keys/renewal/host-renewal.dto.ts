import { IsString, MaxLength } from 'class-validator';
import { IsDateTime, OneKeyLine } from '../../platform/http/field-rules.js';

/** What a host shows and proves to get its next certificate. */
export class SshHostRenewalBody {
  /** The present certificate, as in the `-cert.pub` file. @example 'ssh-ed25519-cert-v01@openssh.com AAAAIHNzaC1lZDI1NTE5LWNlcnQtdjAxQG9wZW5zc2guY29t host' */
  @IsString()
  @MaxLength(20_000)
  @OneKeyLine()
  certificate: string;

  /** When the host signed; within five minutes of now. @example 2027-01-01T00:00:00.000Z */
  @IsDateTime()
  signedAt: Date;

  /**
   * Of `ssh-keygen -Y sign -n host-renewal@sealwright -f KEY` over `SHA256:… TIME`: the SHA-256 of the certificate, base64 without padding, and
   * `signedAt` as YYYY-MM-DDTHH:MM:SS.sssZ. @example '-----BEGIN SSH SIGNATURE-----…'
   */
  @IsString()
  @MaxLength(20_000)
  signature: string;
}

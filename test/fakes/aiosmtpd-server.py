"""SMTP server that accepts email over STARTTLS from a single account and writes each email to standard output as a single line."""

import email
import json
import ssl
import sys
from email import policy

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword

port, certificate, key, user, password = sys.argv[1:]


class Mails:
    async def handle_DATA(self, server, session, envelope):
        mail = email.message_from_bytes(envelope.content, policy=policy.default)
        told = {
            "to": envelope.rcpt_tos,
            "subject": mail["subject"],
            "text": mail.get_body(("plain",)).get_content(),
            "html": mail.get_body(("html",)).get_content(),
            "user": session.auth_data.login.decode(),
            "cipher": session.ssl["cipher"][0],
        }
        print(json.dumps(told), flush=True)
        return "250 OK"


def authenticate(server, session, envelope, mechanism, said):
    known = LoginPassword(user.encode(), password.encode())
    return AuthResult(success=said == known, handled=False, auth_data=said)


context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
context.load_cert_chain(certificate, key)
Controller(
    Mails(),
    hostname="127.0.0.1",
    port=int(port),
    tls_context=context,
    require_starttls=True,
    authenticator=authenticate,
    auth_required=True,
).start()
print(json.dumps("ready"), flush=True)
sys.stdin.read()

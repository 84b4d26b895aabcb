/** The yardstick of gRPC: a bare `node:http2` server that sends the body of a unary call back, with trailers. Prints its port. */
import { createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";

const server = createServer();
server.on("stream", (stream: ServerHttp2Stream) => {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.on("error", () => undefined);
  stream.on("end", () => {
    stream.respond({ ":status": 200, "content-type": "application/grpc+proto" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(Buffer.concat(chunks));
  });
});
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));

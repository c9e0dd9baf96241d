/*
 * JeromqPeer.java: a peer program, one socket of JeroMQ that does what its input asks.
 * Not here: what the requests are (tests/support/peerproc.py), and anything of meshmsg.
 * Law: each request gets one answer, whatever comes of it; the end of the input is a good end.
 */
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.zeromq.SocketType;
import org.zeromq.ZMQ;
import org.zeromq.ZMQException;

public final class JeromqPeer
{
    private static final int RECONNECT_MS = 20;

    private final DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
    private final OutputStream out = new BufferedOutputStream(System.out);
    private ZMQ.Context context;
    private ZMQ.Socket socket;

    public static void main(String[] args) throws IOException
    {
        new JeromqPeer().serve();
    }

    private void serve() throws IOException
    {
        say("ready " + ZMQ.getVersionString());
        for (String line = readLine(); line != null; line = readLine()) {
            String[] words = line.split(" ");
            try {
                answer(words);
            }
            catch (ZMQException | IllegalArgumentException | IllegalStateException error) {
                say("error " + error);
            }
        }
        close();
    }

    private void answer(String[] words) throws IOException
    {
        switch (words[0]) {
        case "open":
            close();
            open(Integer.parseInt(words[1]), words[2], Integer.parseInt(words[3]));
            break;
        case "close":
            close();
            break;
        case "secure":
            secure(words);
            break;
        case "bind":
            check(socket.bind(words[1]));
            say("ok " + socket.getLastEndpoint());
            return;
        case "connect":
            check(socket.connect(words[1]));
            break;
        case "subscribe":
            check(socket.subscribe(readOctets(words[1])));
            break;
        case "unsubscribe":
            check(socket.unsubscribe(readOctets(words[1])));
            break;
        case "send":
            send(words);
            break;
        case "recv":
            recv();
            return;
        case "poll":
            say("ok " + poll(Integer.parseInt(words[1])));
            return;
        case "events":
            say("ok " + socket.getEvents());
            return;
        default:
            throw new IllegalArgumentException("what is " + words[0] + "?");
        }
        say("ok");
    }

    private void open(int kind, String name, int waitMs)
    {
        context = ZMQ.context(1);
        SocketType type = SocketType.type(kind);
        socket = context.socket(type);
        socket.setLinger(0);
        socket.setReconnectIVL(RECONNECT_MS);
        socket.setReceiveTimeOut(waitMs);
        socket.setSendTimeOut(waitMs);
        if (type == SocketType.ROUTER) {
            socket.setRouterHandover(true);
        }
        if (type == SocketType.ROUTER || type == SocketType.DEALER || type == SocketType.REQ) {
            socket.setIdentity(name.getBytes(StandardCharsets.UTF_8));
        }
    }

    private void secure(String[] words)
    {
        if (words[1].equals("plain-server")) {
            check(socket.setPlainServer(true));
            return;
        }
        if (words[1].equals("plain-client")) {
            check(socket.setPlainUsername(words[2]));
            check(socket.setPlainPassword(words[3]));
            return;
        }
        check(socket.setCurvePublicKey(ZMQ.Curve.z85Decode(words[2])));
        check(socket.setCurveSecretKey(ZMQ.Curve.z85Decode(words[3])));
        if (words[1].equals("curve-server")) {
            check(socket.setCurveServer(true));
        }
        else {
            check(socket.setCurveServerKey(ZMQ.Curve.z85Decode(words[4])));
        }
    }

    private void close()
    {
        if (socket != null) {
            socket.close();
            context.term();
            socket = null;
        }
    }

    private void send(String[] words) throws IOException
    {
        List<byte[]> frames = new ArrayList<>();
        for (int i = 1; i < words.length; i++) {
            frames.add(readOctets(words[i]));
        }
        for (int i = 0; i < frames.size(); i++) {
            check(socket.send(frames.get(i), i + 1 < frames.size() ? ZMQ.SNDMORE : 0));
        }
    }

    private void recv() throws IOException
    {
        StringBuilder sizes = new StringBuilder("frames");
        ByteArrayOutputStream octets = new ByteArrayOutputStream();
        do {
            byte[] frame = socket.recv();
            check(frame != null);
            sizes.append(' ').append(frame.length);
            octets.write(frame);
        } while (socket.hasReceiveMore());
        out.write((sizes + "\n").getBytes(StandardCharsets.UTF_8));
        octets.writeTo(out);
        out.flush();
    }

    private int poll(int waitMs)
    {
        try (ZMQ.Poller poller = context.poller(1)) {
            poller.register(socket, ZMQ.Poller.POLLIN);
            return poller.poll(waitMs);
        }
    }

    private void check(boolean done)
    {
        if (!done) {
            throw new IllegalStateException("errno " + socket.errno());
        }
    }

    private String readLine() throws IOException
    {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int octet = in.read(); octet != '\n'; octet = in.read()) {
            if (octet < 0) {
                return null;
            }
            line.write(octet);
        }
        return line.toString("UTF-8");
    }

    private byte[] readOctets(String size) throws IOException
    {
        byte[] octets = new byte[Integer.parseInt(size)];
        in.readFully(octets);
        return octets;
    }

    private void say(String line) throws IOException
    {
        out.write((line + "\n").getBytes(StandardCharsets.UTF_8));
        out.flush();
    }
}

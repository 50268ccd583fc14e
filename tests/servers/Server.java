// A server whose threads do what servers in Java do: answer, allocate, contend, park, wait at a queue. SIGTERM ends it.
//
//     java Server PORT
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

public class Server {
    private static final Object lock = new Object();
    private static final Map<Integer, String> table = new HashMap<>();
    private static final BlockingQueue<Integer> queue = new LinkedBlockingQueue<>();
    private static volatile int taken;

    private static ThreadFactory named(String kind) {
        AtomicInteger number = new AtomicInteger();
        return task -> {
            Thread thread = new Thread(task, kind + "-" + number.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        };
    }

    // Garbage, of a size that the collector notices.
    private static String text() {
        List<String> words = new ArrayList<>();
        for (int i = 0; i < 300; i++)
            words.add("word " + (i * 7919) % 1009);
        Collections.sort(words);
        return String.join(" ", words);
    }

    private static String contend() {
        synchronized (lock) {
            table.merge(table.size() % 100, "x", (a, b) -> a.length() > 1000 ? b : a + b);
            return String.valueOf(table.hashCode());
        }
    }

    private static String park() {
        LockSupport.parkNanos(2_000_000);
        queue.add(1);
        return "parked, " + taken + " taken";
    }

    private interface Page {
        String make() throws IOException;
    }

    private static void answer(HttpExchange exchange, Page page) throws IOException {
        byte[] body;
        int status = 200;
        try {
            body = page.make().getBytes(StandardCharsets.UTF_8);
        } catch (RuntimeException | IOException failure) {
            body = failure.toString().getBytes(StandardCharsets.UTF_8);
            status = 500;
        }
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    private static void take() {
        try {
            while (true)
                taken += queue.take();
        } catch (InterruptedException end) {
            return;
        }
    }

    public static void main(String[] arguments) throws IOException {
        int port = Integer.parseInt(arguments[0]);
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
        Path file = Files.createTempFile("server", ".txt");
        file.toFile().deleteOnExit();
        Files.writeString(file, text());
        server.createContext("/text", exchange -> answer(exchange, Server::text));
        server.createContext("/lock", exchange -> answer(exchange, Server::contend));
        server.createContext("/park", exchange -> answer(exchange, Server::park));
        server.createContext("/file", exchange -> answer(exchange, () -> Files.readString(file)));
        server.setExecutor(Executors.newFixedThreadPool(50, named("answer")));
        ThreadFactory takers = named("queue");
        for (int i = 0; i < 20; i++)
            takers.newThread(Server::take).start();
        server.start();
    }
}
